import { readFile, writeFile } from 'node:fs/promises'
import { retentionOf } from '../app/retention.ts'
import { openStoreToLook } from '../app/stores.ts'
import { parseUpstream } from '../config/addresses.ts'
import { messageOf } from '../errors.ts'
import { print } from '../lib/print.ts'
import { readLogs } from '../replay/read-logs.ts'
import { suggestFromHistory } from '../suggest/history.ts'
import type { Margin } from '../suggest/limits.ts'
import { MOST_REQUESTS, suggestFrom } from '../suggest/suggest.ts'
import { spanMs } from '../usage/usage-query.ts'
import { inStore, insistOnStore, loadOrReport } from './config.ts'
import { CONFIG_OPTION, configFile, readArguments } from './config-option.ts'
import { LOG_OPTIONS, logOptionsOf } from './log-options.ts'
import { momentOf } from './moment.ts'
import { UsageError } from './usage-error.ts'

/** Writes a configuration that fits what users did, from access logs or from a store's history. It changes neither of them. */
export async function suggest(args: readonly string[]): Promise<number> {
  const { values, positionals } = readArguments(args, {
    ...CONFIG_OPTION,
    ...LOG_OPTIONS,
    history: { type: 'boolean', default: false },
    upstream: { type: 'string' },
    key: { type: 'string' },
    percentile: { type: 'string', default: '99' },
    headroom: { type: 'string', default: '1.5' },
    names: { type: 'string', default: '32' },
    out: { type: 'string' },
  })
  // A shell pattern puts further files after the first one.
  const files = [...(values.log ?? []), ...positionals]
  if (values.history === files.length > 0) throw new UsageError('suggest needs --log FILE, or --history')
  const margin = {
    percentile: numberOf('percentile', values.percentile, 0.01, 100),
    headroom: numberOf('headroom', values.headroom, 1, 100),
  }
  const text = values.history ? await fromHistory(values, margin) : await fromLogs(files, values, margin)
  if (text === null) return 1
  if (values.out === undefined) await print(text)
  else await writeNew(values.out, text)
  return 0
}

type Written = { readonly [K in 'config' | 'format' | 'from' | 'to' | 'upstream' | 'key']?: string | undefined } & {
  readonly names: string
}

async function fromLogs(files: readonly string[], written: Written, margin: Margin): Promise<string> {
  const upstream = upstreamOf(written.upstream)
  const names = Math.floor(numberOf('names', written.names, 1, 200))
  const logs = await readLogs(files, { ...logOptionsOf(written), most: MOST_REQUESTS })
  return suggestFrom(logs, { ...margin, upstream, names, key: written.key ?? null })
}

const DEFAULT_SPAN = '7d'

/** `null` if the configuration has problems, which are printed. */
async function fromHistory({ config: file, from, to }: Written, margin: Margin): Promise<string | null> {
  const end = to === undefined ? Date.now() : momentOf('to', to)
  const span = spanMs(from ?? DEFAULT_SPAN)
  const begin = span === null ? momentOf('from', from ?? '', ', or a span such as 7d') : end - span
  const loaded = await loadOrReport(configFile(file))
  if (loaded === null) return null
  insistOnStore(loaded)
  const { config } = loaded
  return inStore(loaded, openStoreToLook(config.store, undefined, retentionOf(config)), async (store) => {
    const text = await readFile(config.file, 'utf8')
    return suggestFromHistory(store, { text, config }, { margin, from: begin, to: end, env: process.env })
  })
}

function upstreamOf(url: string | undefined): string | null {
  if (url === undefined) return null
  const reading = parseUpstream(url)
  if ('problem' in reading) throw new UsageError(`--upstream ${reading.problem}`)
  return reading.value
}

function numberOf(name: string, text: string, min: number, max: number): number {
  const number = /^\d{1,3}(?:\.\d{1,3})?$/.test(text) ? Number(text) : Number.NaN
  if (!(number >= min && number <= max)) throw new UsageError(`--${name} takes a number from ${min} to ${max}`)
  return number
}

/** Never replaces an existing configuration. */
async function writeNew(file: string, text: string): Promise<void> {
  try {
    await writeFile(file, text, { flag: 'wx' })
  } catch (error) {
    const isThere = (error as NodeJS.ErrnoException).code === 'EEXIST'
    const problem = isThere ? `${file} is there already: name another file` : `${file}: ${messageOf(error)}`
    throw new Error(problem, { cause: error })
  }
  console.log(`${file}: written`)
}
