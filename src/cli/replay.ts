import { planRulesOf } from '../app/plan-rules.ts'
import { asCsv, asJson, asText, type Printed } from '../replay/print.ts'
import { readLogs } from '../replay/read-logs.ts'
import { replay } from '../replay/replay.ts'
import { pricedByQuery } from '../replay/tariffs.ts'
import { loadOrReport } from './config.ts'
import { CONFIG_OPTION, configFile, readArguments } from './config-option.ts'
import { LOG_OPTIONS, logOptionsOf } from './log-options.ts'
import { UsageError } from './usage-error.ts'

const PRINT = { text: asText, json: asJson, csv: asCsv }
const MOST_ROWS = 1_000_000

/** Decides the requests of access logs again under another configuration. It charges nothing and opens no store. */
export async function replayLogs(args: readonly string[]): Promise<number> {
  const { values, positionals } = readArguments(args, {
    ...CONFIG_OPTION,
    ...LOG_OPTIONS,
    top: { type: 'string' },
    json: { type: 'boolean' },
    csv: { type: 'boolean' },
  })
  // A shell pattern puts further files after the first one.
  const files = [...(values.log ?? []), ...positionals]
  if (files.length === 0) throw new UsageError('replay needs --log FILE')
  if (values.json === true && values.csv === true) throw new UsageError('--json and --csv exclude each other')
  const kind = values.json === true ? 'json' : values.csv === true ? 'csv' : 'text'
  const options = logOptionsOf(values)
  const top = topOf(values.top, kind === 'text' ? 20 : MOST_ROWS)
  const loaded = await loadOrReport(configFile(values.config))
  if (loaded === null) return 1
  const { config } = loaded
  const keepsQuery = pricedByQuery(config, await planRulesOf(config))
  const logs = await readLogs(files, { ...options, keepsQuery })
  const printed: Printed = { logs, report: await replay(config, logs.journal), top }
  console.log(PRINT[kind](printed))
  return 0
}

function topOf(text: string | undefined, otherwise: number): number {
  if (text === undefined) return otherwise
  if (!/^\d{1,7}$/.test(text) || Number(text) > MOST_ROWS)
    throw new UsageError(`--top takes a number up to ${MOST_ROWS}`)
  return Number(text)
}
