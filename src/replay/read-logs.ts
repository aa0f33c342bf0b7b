import type { Reading } from './entry.ts'
import { type Format, readerOf } from './formats.ts'
import { type Journal, JournalBuilder } from './journal.ts'
import { readLines } from './lines.ts'

export interface Logs {
  readonly journal: Journal
  /** Lines that are not empty. */
  readonly lines: number
  readonly unreadable: number
  /** The first of them. */
  readonly examples: readonly UnreadableLine[]
  readonly others: ReadonlyMap<OtherReason, number>
}

export interface UnreadableLine {
  readonly file: string
  /** From 1. */
  readonly line: number
  readonly problem: string
}

export type OtherReason = Extract<Reading, { kind: 'other' }>['why']

export interface LogOptions {
  readonly format: Format
  /** Of the requests that count, in milliseconds since the epoch: at `from` or later, before `to`. */
  readonly from: number
  readonly to: number
}

const EXAMPLES = 10

/** Reads logs of any number of gateways, in any order. @throws Error that names a file which cannot be read */
export async function readLogs(files: readonly string[], { format, from, to }: LogOptions): Promise<Logs> {
  const builder = new JournalBuilder()
  const others = new Map<OtherReason, number>()
  const examples: UnreadableLine[] = []
  let [lines, unreadable] = [0, 0]

  for (const file of files) {
    const read = readerOf(format)
    await readLines(file, (text, line) => {
      lines++
      const reading = read(text)
      if (reading.kind === 'request') {
        if (reading.entry.at >= from && reading.entry.at < to) builder.add(reading.entry)
      } else if (reading.kind === 'other') others.set(reading.why, (others.get(reading.why) ?? 0) + 1)
      else if (++unreadable <= EXAMPLES) examples.push({ file, line, problem: reading.problem })
    })
  }
  return { journal: builder.finish(), lines, unreadable, examples, others }
}
