import { FORMATS, type Format } from '../replay/formats.ts'
import type { LogOptions } from '../replay/read-logs.ts'
import { UsageError } from './usage-error.ts'

/** The options of a command that reads access logs, for `parseArgs`. */
export const LOG_OPTIONS = {
  log: { type: 'string', multiple: true },
  format: { type: 'string' },
  from: { type: 'string' },
  to: { type: 'string' },
} as const

type Written = { readonly [K in 'format' | 'from' | 'to']?: string | undefined }

/** @throws UsageError for an option that cannot be understood */
export function logOptionsOf(written: Written): LogOptions {
  return { format: formatOf(written.format), ...rangeOf(written) }
}

function formatOf(format = 'auto'): Format {
  const known = FORMATS.find((each) => each === format)
  if (known === undefined) throw new UsageError(`--format takes ${FORMATS.join(', ')}`)
  return known
}

function rangeOf({ from, to }: Written) {
  return { from: momentOf('from', from, Number.NEGATIVE_INFINITY), to: momentOf('to', to, Number.POSITIVE_INFINITY) }
}

function momentOf(name: string, text: string | undefined, otherwise: number): number {
  if (text === undefined) return otherwise
  const at = Date.parse(text)
  if (Number.isNaN(at)) throw new UsageError(`--${name} takes a time such as 2026-10-10T12:00:00Z`)
  return at
}
