import { FORMATS, type Format } from '../replay/formats.ts'
import type { LogOptions } from '../replay/read-logs.ts'
import { momentOf } from './moment.ts'
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
  return {
    from: from === undefined ? Number.NEGATIVE_INFINITY : momentOf('from', from),
    to: to === undefined ? Number.POSITIVE_INFINITY : momentOf('to', to),
  }
}
