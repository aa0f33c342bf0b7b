import { createCombinedReader } from './combined-bytes.ts'
import type { LogReader } from './entry.ts'
import { createNames } from './names.ts'
import { createOwnReader, readOwnLine } from './own-log.ts'
import { readCombinedLine, readEnvoyLine } from './server-logs.ts'

/** How a log is written. `nginx` is its default, `combined`; `auto` takes each file for what its first line looks like. */
export const FORMATS = ['auto', 'own', 'combined', 'nginx', 'envoy'] as const
export type Format = (typeof FORMATS)[number]

type Named = Exclude<Format, 'auto'>

const combined = (): LogReader => ({ text: readCombinedLine, bytes: createCombinedReader(createNames()) })
const READERS: Readonly<Record<Named, () => LogReader>> = {
  own: () => ({ text: readOwnLine, bytes: createOwnReader(createNames()) }),
  combined,
  nginx: combined,
  envoy: () => ({ text: readEnvoyLine, bytes: () => null }),
}

/** Whoever reads the lines of one file. */
export function readerOf(format: Format): LogReader {
  if (format !== 'auto') return READERS[format]()
  let reader: LogReader | null = null
  return {
    text(line) {
      reader ??= READERS[guessed(line)]()
      return reader.text(line)
    },
    bytes: (bytes, from, to) => reader?.bytes(bytes, from, to) ?? null,
  }
}

function guessed(line: string): Named {
  if (line.startsWith('{')) return 'own'
  return line.startsWith('[') ? 'envoy' : 'combined'
}
