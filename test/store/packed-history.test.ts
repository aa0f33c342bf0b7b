import { describe, expect, it } from 'vitest'
import { type EndedRun, MOST_RUNS } from '../../src/quota/history.ts'
import { addRuns, eachPackedRun, packedHistoryEnds } from '../../src/store/packed-history.ts'
import { overlongHistory, runOf } from './overlong-history.ts'

const HOUR = 3_600_000
const AT = Date.UTC(2040, 0, 1)
const NOTHING = Buffer.alloc(0)
const run = (i: number, keptSeconds = 10 ** 8): EndedRun => ({
  seconds: 3600,
  startedAt: AT + i * HOUR,
  used: i + 1,
  keptSeconds,
})

function startsIn(bytes: Buffer): number[] {
  const starts: number[] = []
  eachPackedRun(bytes, 0, 2 ** 48, (_category, _seconds, startedAt) => starts.push((startedAt - AT) / HOUR))
  return starts
}

/** Filler of another category is left out. */
function startsOfRead(bytes: Buffer): number[] {
  const starts: number[] = []
  eachPackedRun(bytes, 0, 2 ** 48, (category, _seconds, startedAt) => {
    if (category === 'read') starts.push((startedAt - AT) / HOUR)
  })
  return starts
}

describe('a packed history', () => {
  it(`a packed history has ${MOST_RUNS} runs of a window, without the oldest of more`, () => {
    let bytes: Buffer = NOTHING
    for (let i = 0; i < MOST_RUNS + 2; i++) bytes = addRuns(bytes, 'read', [run(i)], AT)
    expect(startsIn(bytes)).toEqual(Array.from({ length: MOST_RUNS }, (_, i) => i + 2))
  })

  it('a packed history that is too long loses as many of the oldest runs of a window as are needed for a new one', () => {
    const bytes = addRuns(overlongHistory(AT), 'read', [runOf(AT, 10)], AT)
    expect(startsOfRead(bytes)).toEqual([3, 4, 5, 6, 7, 8, 9, 10])
    expect(startsOfRead(addRuns(bytes, 'read', [runOf(AT, 11)], AT))).toEqual([4, 5, 6, 7, 8, 9, 10, 11])
  })

  it('a packed history is read as far as it is whole', () => {
    const bytes = addRuns(addRuns(NOTHING, 'read', [run(0)], AT), 'write', [run(1)], AT)
    for (let length = 0; length < bytes.length; length++) {
      expect(startsIn(bytes.subarray(0, length)).length).toBeLessThanOrEqual(1)
    }
    expect(startsIn(bytes)).toEqual([0, 1])
  })

  it('a packed history is read from one moment on and before another', () => {
    const bytes = [0, 1, 2].reduce((before, i) => addRuns(before, 'read', [run(i)], AT), NOTHING as Buffer)
    const starts: number[] = []
    eachPackedRun(bytes, AT + HOUR, AT + 2 * HOUR, (_category, _seconds, startedAt) => starts.push(startedAt))
    expect(starts).toEqual([AT + HOUR])
  })

  it('a packed history ends with the run that is kept longest, and leaves out what is kept no more', () => {
    const bytes = addRuns(addRuns(NOTHING, 'read', [run(0, 7200)], AT), 'write', [run(1, 3600)], AT)
    expect(packedHistoryEnds(bytes)).toBe(AT + 3 * HOUR)
    expect(packedHistoryEnds(NOTHING)).toBe(0)
    expect(startsIn(addRuns(bytes, 'write', [run(5, 3600)], AT + 3 * HOUR))).toEqual([5])
  })
})
