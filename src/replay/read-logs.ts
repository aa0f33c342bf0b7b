import type { Asked, EntryTarget, Reading } from './entry.ts'
import { type Format, readerOf } from './formats.ts'
import { type Journal, JournalBuilder } from './journal.ts'
import { readLines } from './lines.ts'

export interface Logs {
  readonly journal: Journal
  /** Lines that are not empty. */
  readonly lines: number
  readonly unreadable: number
  /** The first unreadable lines, at most `EXAMPLES`. */
  readonly examples: readonly UnreadableLine[]
  readonly others: ReadonlyMap<OtherReason, number>
  /** Requests after the first `most`, which are not in the journal. */
  readonly beyond: number
}

export interface UnreadableLine {
  readonly file: string
  /** The number of the line, from 1. */
  readonly line: number
  readonly problem: string
}

export type OtherReason = Extract<Reading, { kind: 'other' }>['why']

export interface LogOptions {
  readonly format: Format
  /** The requests that count, in milliseconds since the epoch: at `from` or later, before `to`. */
  readonly from: number
  readonly to: number
  /** The most requests. Default any number */
  readonly most?: number
  /** Whether the query of a request matters. Its path has no query then. Default of none */
  readonly keepsQuery?: (request: Asked) => boolean
}

const EXAMPLES = 10

/** Reads logs of any number of gateways, in any order. @throws Error that names a file which cannot be read */
export async function readLogs(
  files: readonly string[],
  { format, from, to, most = Number.POSITIVE_INFINITY, keepsQuery = () => false }: LogOptions,
): Promise<Logs> {
  const builder = new JournalBuilder()
  const others = new Map<OtherReason, number>()
  const examples: UnreadableLine[] = []
  let [lines, unreadable, requests] = [0, 0, 0]

  const kept = createKeeper(keepsQuery)
  const add = (reading: Reading, file: string, line: number): void => {
    lines++
    if (reading.kind === 'request') {
      const { entry } = reading
      if (entry.at >= from && entry.at < to && ++requests <= most) builder.add(entry)
    } else if (reading.kind === 'other') others.set(reading.why, (others.get(reading.why) ?? 0) + 1)
    else if (++unreadable <= EXAMPLES) examples.push({ file, line, problem: reading.problem })
  }
  for (const file of files) {
    const reader = readerOf(format)
    await readLines(file, (line, number) => {
      const reading = reader(line)
      add(requests < most ? kept(reading) : reading, file, number)
    })
  }
  const journal = builder.finish()
  return { journal, lines, unreadable, examples, others, beyond: requests - journal.size }
}

/** Makes each text of a reading one string, which is a copy: a piece of a line would keep the whole line in memory. */
function createKeeper(keepsQuery: (request: Asked) => boolean): (reading: Reading) => Reading {
  const texts = new Map<string, string>()
  function one<T extends string | null>(text: T): T {
    if (text === null) return text
    const known = texts.get(text)
    if (known !== undefined) return known as T
    const copy = Buffer.from(text, 'utf16le').toString('utf16le')
    texts.set(copy, copy)
    return copy as T
  }
  function targetOf({ method, target: { kind, text } }: Asked): EntryTarget {
    const mark = kind === 'path' ? text.indexOf('?') : -1
    const target = { kind, text: one(mark < 0 ? text : text.slice(0, mark)) }
    return mark >= 0 && keepsQuery({ method, target }) ? { kind, text: one(text) } : target
  }
  return (reading) => {
    if (reading.kind !== 'request') return reading
    const { entry } = reading
    const { method, user, address, plan, organisation } = entry
    return {
      kind: 'request',
      entry: {
        ...entry,
        method: one(method),
        target: targetOf(entry),
        user: one(user),
        address: one(address),
        plan: one(plan),
        organisation: one(organisation),
      },
    }
  }
}
