import { type EndedRun, MOST_RUNS } from '../quota/history.ts'
import type { RunVisitor } from '../quota/history-store.ts'
import { read48 } from './numbers.ts'

/**
 * A history as both stores keep it: one big-endian value for each user or organisation. It is a list of sections, one for each window
 * of a category. A section has the length of the category's name (1 byte), the name, the length of the window in seconds (4), the
 * seconds for which a run is kept after its end (4), the number of runs (2), and for each run its start in milliseconds since the epoch
 * (6) and its tokens (6). `history.lua` writes the same form. Bytes after the last whole section were not written by us and are
 * ignored.
 */
const RUN = 12
/** The size of the numbers between name and runs, in bytes. */
const NUMBERS = 10

/** In bytes. In a value that is longer, a new run replaces as many of the oldest runs of its window as are too many. */
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

/** `null` if there is no whole section at this place. */
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

/** There are few categories. Comparing a name with known ones costs a tenth of decoding it. */
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
 * Calls `visit` for each run that started at `from` or later and before `to`.
 * @param only length in seconds of the one window to visit; `null` for all
 * @param shown which part is shown. Default everything
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
      const startedAt = read48(bytes, run)
      if (startedAt < oldest || startedAt >= to) continue
      const tokens = read48(bytes, run + 6)
      if (tokens > 0) visit(category, seconds, startedAt, tokens, false)
    }
  }
}

/** Which part of a history is shown: only runs that must still be kept. */
export interface Shown {
  /** In milliseconds since the epoch. */
  readonly now: number
  /** The longest time for which a run of the owner is kept after its end, in seconds. */
  readonly mostSeconds: number
}

/** The earliest start of a run that is shown. */
export function oldestShown(seconds: number, keptSeconds: number, { now, mostSeconds }: Shown): number {
  return now - (seconds + Math.min(keptSeconds, mostSeconds)) * 1000 + 1
}

/** Until when the last run must be kept, in milliseconds since the epoch; 0 if there are no runs. */
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
 * The history with these runs added, at most one of each window, and without runs that need not be kept any more. If another window
 * has become the longest, earlier runs are kept for as long as before.
 * @param mostSeconds the longest time for which a run is kept
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
  let length = bytes.length
  for (let s = sectionAt(bytes, 0, bytes.length); s !== null; s = sectionAt(bytes, s.end, bytes.length)) {
    const { category: name, seconds, first, end } = s
    const run = name === category ? runs.find((each) => each.seconds === seconds) : undefined
    const kept = { ...s, keptSeconds: Math.max(run?.keptSeconds ?? 0, Math.min(s.keptSeconds, mostSeconds)) }
    let from = first
    const isTooMany = (): boolean => (end - from) / RUN >= MOST_RUNS || length > LONGEST_HISTORY
    while (from < end && (endOf(bytes.readUIntBE(from, 6), kept) <= now || (run !== undefined && isTooMany()))) {
      from += RUN
      length -= RUN
    }
    if (run !== undefined) {
      parts.push(sectionOf(category, { ...run, keptSeconds: kept.keptSeconds }, bytes.subarray(from, end)))
      rest.delete(run)
    } else if (from < end) parts.push(sectionOf(name, kept, bytes.subarray(from, end)))
  }
  for (const run of rest) parts.push(sectionOf(category, run, NOTHING))
  return Buffer.concat(parts)
}

const NOTHING = Buffer.alloc(0)

/** @param run a run to append, or only the numbers of the section. If the last run has the same start, the two become one */
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
 * Takes an amount back in place from the run with this start. An amount below 0 is added.
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
