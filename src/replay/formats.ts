import type { LineReader } from './entry.ts'
import { readOwnLine } from './own-log.ts'
import { readCombinedLine, readEnvoyLine } from './server-logs.ts'

/** How a log is written. `nginx` is its default, `combined`; `auto` takes each file for what its first line looks like. */
export const FORMATS = ['auto', 'own', 'combined', 'nginx', 'envoy'] as const
export type Format = (typeof FORMATS)[number]

const READERS: Readonly<Record<Exclude<Format, 'auto'>, LineReader>> = {
  own: readOwnLine,
  combined: readCombinedLine,
  nginx: readCombinedLine,
  envoy: readEnvoyLine,
}

/** Whoever reads the lines of one file. */
export function readerOf(format: Format): LineReader {
  if (format !== 'auto') return READERS[format]
  let reader: LineReader | null = null
  return (line) => {
    reader ??= guessed(line)
    return reader(line)
  }
}

function guessed(line: string): LineReader {
  if (line.startsWith('{')) return READERS.own
  return line.startsWith('[') ? READERS.envoy : READERS.combined
}
