import { expect, it } from 'vitest'
import { oneAtATime } from '../../src/lib/serialize.ts'

it('tasks are done one after the other, and one that fails keeps nobody behind it from his turn', async () => {
  const inTurn = oneAtATime()
  const done: string[] = []
  const gate = Promise.withResolvers<void>()
  const first = inTurn(() => gate.promise.then(() => Promise.reject(new Error('the client left'))))
  const second = inTurn(async () => done.push('second'))
  await Promise.resolve()
  expect(done).toEqual([])
  gate.resolve()
  await expect(first).rejects.toThrow('the client left')
  await second
  await inTurn(async () => done.push('third'))
  expect(done).toEqual(['second', 'third'])
})
