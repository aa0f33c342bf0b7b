import type { LineReader } from './entry.ts'
import { readOwnLine } from './own-log.ts'
import { readCombinedLine, readEnvoyLine } from './server-logs.ts'

/** The format of a log. `nginx` is the default format of nginx, which is `combined`. `auto` tells the format by the first line of a file. */
export const FORMATS = ['auto', 'own', 'combined', 'nginx', 'envoy'] as const
export type Format = (typeof FORMATS)[number]

const READERS: Readonly<Record<Exclude<Format, 'auto'>, LineReader>> = {
  own: readOwnLine,
  combined: readCombinedLine,
  nginx: readCombinedLine,
  envoy: readEnvoyLine,
}

/** The reader for the lines of one file. */
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
