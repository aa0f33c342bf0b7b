import type { IncomingMessage, ServerResponse } from 'node:http'
import { expect, it } from 'vitest'
import { createUnderway, type Underway } from '../../src/edge/underway.ts'

const exchange = (): Underway => ({ req: {} as IncomingMessage, res: {} as ServerResponse, requestId: 'an-id' })

it('each connection has one list of its own, in the order of arrival', () => {
  const underway = createUnderway()
  const [a, b] = [{}, {}]
  const [first, second] = [exchange(), exchange()]
  underway(a).push(first)
  underway(a).push(second)
  expect(underway(a)[0]).toBe(first)
  expect(underway(a)[1]).toBe(second)
  expect(underway(b)).toEqual([])
})
