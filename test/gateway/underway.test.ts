import type { IncomingMessage, ServerResponse } from 'node:http'
import { expect, it } from 'vitest'
import { createUnderway } from '../../src/gateway/underway.ts'

it('each connection has one list of its own, in the order of arrival', () => {
  const underway = createUnderway()
  const [a, b] = [{}, {}]
  const [first, second] = [1, 2].map(() => ({ req: {} as IncomingMessage, res: {} as ServerResponse }))
  if (first === undefined || second === undefined) throw new Error('two are made')
  underway(a).push(first)
  underway(a).push(second)
  expect(underway(a)).toEqual([first, second])
  underway(a).splice(underway(a).indexOf(first), 1)
  expect(underway(a)[0]).toBe(second)
  expect(underway(b)).toEqual([])
})
