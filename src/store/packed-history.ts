import type { EndedRun } from '../quota/history.ts'
import type { RunVisitor } from '../quota/history-store.ts'

/**
 * A history as both stores keep it: one value for each user or organisation, big-endian. It is a list of sections, one for each window
 * of a category:
 *   length of the category's name (1 byte), the name, length of the window in seconds (4), for how many seconds a run is kept after its
 *   end (4), number of runs (2), of each run its start in milliseconds since the epoch (6) and its tokens (6).
 * `history.lua` writes the same. What follows the last whole section was not written by us and counts as nothing.
 */
const RUN = 12
/** Behind the name, before the runs. */
const NUMBERS = 10

/** Runs of one window. Of more the oldest are forgotten. */
export const MOST_RUNS = 3000
/** Bytes of a value that is longer not by our doing. A run takes the place of the oldest of its window where a value is as long. */
export const LONGEST_HISTORY = 1_048_576

interface Section {
  readonly category: string
  readonly seconds: number
  readonly keptSeconds: number
  readonly runs: number
  /** Where the first run is, and where the next section begins. */
  readonly first: number
  readonly end: number
}

/** `null` if no whole section is. */
function sectionAt(bytes: Buffer, at: number, last: number): Section | null {
  if (at >= last) return null
  const numbers = at + 1 + (bytes[at] as number)
  if (numbers + NUMBERS > last) return null
  const runs = bytes.readUInt16BE(numbers + 8)
  const first = numbers + NUMBERS
  const end = first + RUN * runs
  if (end > last) return null
  return {
    category: nameAt(bytes, at + 1, numbers),
    seconds: bytes.readUInt32BE(numbers),
    keptSeconds: bytes.readUInt32BE(numbers + 4),
    runs,
    first,
    end,
  }
}

/** Categories are few: a name that is known already is compared, which costs a tenth of reading it. */
const names: string[] = []

function nameAt(bytes: Buffer, from: number, to: number): string {
  for (const name of names) if (isAt(name, bytes, from, to)) return name
  const name = bytes.toString('latin1', from, to)
  if (names.unshift(name) > 16) names.pop()
  return name
}

function isAt(name: string, bytes: Buffer, from: number, to: number): boolean {
  if (name.length !== to - from) return false
  for (let i = 0; i < name.length; i++) if (name.charCodeAt(i) !== bytes[from + i]) return false
  return true
}

/**
 * Calls `visit` for each run that started from `from` on and before `to`.
 * @param only length in seconds of the one window that is asked for; `null` for all
 * @param shown what is to be left out. Default nothing
 */
export function eachPackedRun(
  bytes: Buffer,
  from: number,
  to: number,
  visit: RunVisitor,
  only: number | null = null,
  shown: Shown | null = null,
): void {
  const last = bytes.length
  for (let section = sectionAt(bytes, 0, last); section !== null; section = sectionAt(bytes, section.end, last)) {
    const { category, seconds, keptSeconds, first, end } = section
    if (only !== null && seconds !== only) continue
    const oldest = shown === null ? from : Math.max(from, oldestShown(seconds, keptSeconds, shown))
    for (let run = first; run < end; run += RUN) {
      // Two readings and a product of 32 bits cost a third of `readUIntBE`.
      const startedAt = bytes.readUInt16BE(run) * 2 ** 32 + bytes.readUInt32BE(run + 2)
      if (startedAt < oldest || startedAt >= to) continue
      const tokens = bytes.readUInt16BE(run + 6) * 2 ** 32 + bytes.readUInt32BE(run + 8)
      if (tokens > 0) visit(category, seconds, startedAt, tokens, false)
    }
  }
}

/** What is shown of a history: nothing that need not be kept any more. */
export interface Shown {
  /** In milliseconds since the epoch. */
  readonly now: number
  /** For how long a run of the owner is kept after its end, at most, in seconds. */
  readonly mostSeconds: number
}

/** The first moment at which a run of a window may have started that is shown. */
export function oldestShown(seconds: number, keptSeconds: number, { now, mostSeconds }: Shown): number {
  return now - (seconds + Math.min(keptSeconds, mostSeconds)) * 1000 + 1
}

/** When the last run need not be kept any more, in milliseconds since the epoch; 0 for no runs. */
export function packedHistoryEnds(bytes: Buffer): number {
  let ends = 0
  for (let s = sectionAt(bytes, 0, bytes.length); s !== null; s = sectionAt(bytes, s.end, bytes.length)) {
    for (let run = s.first; run < s.end; run += RUN) ends = Math.max(ends, endOf(bytes.readUIntBE(run, 6), s))
  }
  return ends
}

function endOf(startedAt: number, { seconds, keptSeconds }: Pick<Section, 'seconds' | 'keptSeconds'>): number {
  return startedAt + (seconds + keptSeconds) * 1000
}

/**
 * The same history with these runs, at most one of each window, and without what need not be kept any more. A window keeps its runs
 * as long as before when another one has become the longest.
 * @param mostSeconds for how long a run is kept at most
 */
export function addRuns(
  bytes: Buffer,
  category: string,
  runs: readonly EndedRun[],
  now: number,
  mostSeconds: number = Number.POSITIVE_INFINITY,
): Buffer {
  const parts: Buffer[] = []
  const rest = new Set(runs)
  for (let s = sectionAt(bytes, 0, bytes.length); s !== null; s = sectionAt(bytes, s.end, bytes.length)) {
    const { category: name, seconds, first, end } = s
    const run = name === category ? runs.find((each) => each.seconds === seconds) : undefined
    const kept = { ...s, keptSeconds: Math.max(run?.keptSeconds ?? 0, Math.min(s.keptSeconds, mostSeconds)) }
    let from = first
    const isTooMany = (): boolean => (end - from) / RUN >= MOST_RUNS || bytes.length > LONGEST_HISTORY
    while (from < end && (endOf(bytes.readUIntBE(from, 6), kept) <= now || (run !== undefined && isTooMany())))
      from += RUN
    if (run !== undefined) {
      parts.push(sectionOf(category, { ...run, keptSeconds: kept.keptSeconds }, bytes.subarray(from, end)))
      rest.delete(run)
    } else if (from < end) parts.push(sectionOf(name, kept, bytes.subarray(from, end)))
  }
  for (const run of rest) parts.push(sectionOf(category, run, NOTHING))
  return Buffer.concat(parts)
}

const NOTHING = Buffer.alloc(0)

/** @param run behind the others, if it is one; where the last of them has its start, both are one */
function sectionOf(category: string, run: EndedRun | Pick<Section, 'seconds' | 'keptSeconds'>, before: Buffer): Buffer {
  const { startedAt, used } = 'used' in run ? run : { startedAt: 0, used: 0 }
  const last = before.length - RUN
  const isSame = used > 0 && last >= 0 && before.readUIntBE(last, 6) === startedAt
  const added = used === 0 || isSame ? 0 : RUN
  const numbers = 1 + category.length
  const bytes = Buffer.alloc(numbers + NUMBERS + before.length + added)
  bytes[0] = category.length
  bytes.write(category, 1, 'latin1')
  bytes.writeUInt32BE(run.seconds, numbers)
  bytes.writeUInt32BE(run.keptSeconds, numbers + 4)
  bytes.writeUInt16BE((before.length + added) / RUN, numbers + 8)
  before.copy(bytes, numbers + NUMBERS)
  if (isSame) bytes.writeUIntBE(Math.min(MOST_TOKENS, before.readUIntBE(last + 6, 6) + used), bytes.length - 6, 6)
  if (added > 0) {
    bytes.writeUIntBE(startedAt, bytes.length - RUN, 6)
    bytes.writeUIntBE(used, bytes.length - 6, 6)
  }
  return bytes
}

const MOST_TOKENS = 2 ** 48 - 1

/**
 * Takes an amount back from the run that started then, in place, or adds one that is below 0.
 * @returns whether there is such a run
 */
export function takeBackRun(
  bytes: Buffer,
  category: string,
  seconds: number,
  amount: number,
  startedAt: number,
): boolean {
  for (let s = sectionAt(bytes, 0, bytes.length); s !== null; s = sectionAt(bytes, s.end, bytes.length)) {
    if (s.category !== category || s.seconds !== seconds) continue
    for (let run = s.first; run < s.end; run += RUN) {
      if (bytes.readUIntBE(run, 6) !== startedAt) continue
      const tokens = bytes.readUIntBE(run + 6, 6) - amount
      bytes.writeUIntBE(Math.min(MOST_TOKENS, Math.max(0, tokens)), run + 6, 6)
      return true
    }
  }
  return false
}
