import { setImmediate as nextTurn } from 'node:timers/promises'
import { beforeEach, describe, expect, it } from 'vitest'
import { shareReads } from '../../src/store/shared-reads.ts'

interface Call {
  readonly questions: readonly string[]
  readonly response: (responses: readonly string[]) => void
  readonly fail: (error: Error) => void
}

describe('reads', () => {
  let calls: Call[]
  let read: (question: string) => Promise<string>
  beforeEach(() => {
    calls = []
    read = shareReads(
      (questions) =>
        new Promise((response, fail) => {
          calls.push({ questions, response, fail })
        }),
      3,
    )
  })
  const asked = (): (readonly string[])[] => calls.map(({ questions }) => questions)

  it('reads of one turn of the event loop share a call, and each has its own reply', async () => {
    const both = Promise.all([read('a'), read('b')])
    await nextTurn()
    expect(asked()).toEqual([['a', 'b']])
    calls[0]?.response(['A', 'B'])
    expect(await both).toEqual(['A', 'B'])
  })

  it('reads do not wait for a call of an earlier turn', async () => {
    const first = read('a')
    await nextTurn()
    const second = read('b')
    await nextTurn()
    expect(asked()).toEqual([['a'], ['b']])
    calls[1]?.response(['B'])
    expect(await second).toBe('B')
    calls[0]?.response(['A'])
    expect(await first).toBe('A')
  })

  it('reads of one turn beyond the most of a call share the next', async () => {
    const all = Promise.all(['a', 'b', 'c', 'd', 'e', 'f', 'g'].map(read))
    await nextTurn()
    expect(asked()).toEqual([['a', 'b', 'c'], ['d', 'e', 'f'], ['g']])
    for (const { questions, response } of calls) response(questions.map((question) => question.toUpperCase()))
    expect(await all).toEqual(['A', 'B', 'C', 'D', 'E', 'F', 'G'])
  })

  it('reads that fill a call leave no call for the end of the turn', async () => {
    void Promise.all(['a', 'b', 'c'].map(read))
    await nextTurn()
    expect(asked()).toEqual([['a', 'b', 'c']])
  })

  it('reads fail together, and those of the next turn are asked anew', async () => {
    const outcomes = Promise.allSettled([read('a'), read('b')])
    await nextTurn()
    const error = new Error('gone')
    calls[0]?.fail(error)
    expect((await outcomes).map((one) => 'reason' in one && one.reason)).toEqual([error, error])
    const next = read('c')
    await nextTurn()
    calls[1]?.response(['C'])
    expect(await next).toBe('C')
  })
})
