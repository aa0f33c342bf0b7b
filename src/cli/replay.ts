import { parseArgs } from 'node:util'
import { FORMATS, type Format } from '../replay/formats.ts'
import { asCsv, asJson, asText, type Printed } from '../replay/print.ts'
import { readLogs } from '../replay/read-logs.ts'
import { replay } from '../replay/replay.ts'
import { loadOrReport } from './config.ts'
import { CONFIG_OPTION, configFile } from './config-option.ts'
import { UsageError } from './help.ts'

const PRINT = { text: asText, json: asJson, csv: asCsv }
const MOST_ROWS = 1_000_000

/** Decides the requests of access logs again, under another configuration. Nothing is charged, and no store is opened. */
export async function replayLogs(args: readonly string[]): Promise<number> {
  const { values, positionals } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: {
      ...CONFIG_OPTION,
      log: { type: 'string', multiple: true },
      format: { type: 'string' },
      from: { type: 'string' },
      to: { type: 'string' },
      top: { type: 'string' },
      json: { type: 'boolean' },
      csv: { type: 'boolean' },
    },
  })
  // A pattern of the shell puts the files behind the first one.
  const files = [...(values.log ?? []), ...positionals]
  if (files.length === 0) throw new UsageError('replay needs --log FILE')
  if (values.json === true && values.csv === true) throw new UsageError('--json and --csv exclude each other')
  const kind = values.json === true ? 'json' : values.csv === true ? 'csv' : 'text'
  const options = { format: formatOf(values.format), ...rangeOf(values) }
  const top = topOf(values.top, kind === 'text' ? 20 : MOST_ROWS)
  const loaded = await loadOrReport(configFile(values.config))
  if (loaded === null) return 1
  const logs = await readLogs(files, options)
  const printed: Printed = { logs, report: await replay(loaded.config, logs.journal), top }
  console.log(PRINT[kind](printed))
  return 0
}

function formatOf(format = 'auto'): Format {
  const known = FORMATS.find((each) => each === format)
  if (known === undefined) throw new UsageError(`--format takes ${FORMATS.join(', ')}`)
  return known
}

function rangeOf({ from, to }: { readonly from?: string | undefined; readonly to?: string | undefined }) {
  return { from: momentOf('from', from, Number.NEGATIVE_INFINITY), to: momentOf('to', to, Number.POSITIVE_INFINITY) }
}

function momentOf(name: string, text: string | undefined, otherwise: number): number {
  if (text === undefined) return otherwise
  const at = Date.parse(text)
  if (Number.isNaN(at)) throw new UsageError(`--${name} takes a time such as 2026-10-10T12:00:00Z`)
  return at
}

function topOf(text: string | undefined, otherwise: number): number {
  if (text === undefined) return otherwise
  if (!/^\d{1,7}$/.test(text) || Number(text) > MOST_ROWS)
    throw new UsageError(`--top takes a number up to ${MOST_ROWS}`)
  return Number(text)
}
