import { writeFile } from 'node:fs/promises'
import { parseArgs } from 'node:util'
import { parseUpstream } from '../config/addresses.ts'
import { messageOf } from '../errors.ts'
import { print } from '../lib/print.ts'
import { readLogs } from '../replay/read-logs.ts'
import { MOST_REQUESTS, suggestFrom } from '../suggest/suggest.ts'
import { UsageError } from './help.ts'
import { LOG_OPTIONS, logOptionsOf } from './log-options.ts'

/** Writes a configuration that fits the requests of access logs. None is read, and no store is opened. */
export async function suggest(args: readonly string[]): Promise<number> {
  const { values, positionals } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: {
      ...LOG_OPTIONS,
      upstream: { type: 'string' },
      percentile: { type: 'string', default: '99' },
      headroom: { type: 'string', default: '1.5' },
      names: { type: 'string', default: '32' },
      out: { type: 'string' },
    },
  })
  // A pattern of the shell puts the files behind the first one.
  const files = [...(values.log ?? []), ...positionals]
  if (files.length === 0) throw new UsageError('suggest needs --log FILE')
  const options = {
    upstream: upstreamOf(values.upstream),
    percentile: numberOf('percentile', values.percentile, 0.01, 100),
    headroom: numberOf('headroom', values.headroom, 1, 100),
    names: Math.floor(numberOf('names', values.names, 1, 200)),
  }
  const logs = await readLogs(files, { ...logOptionsOf(values), most: MOST_REQUESTS })
  const text = await suggestFrom(logs, options)
  if (values.out === undefined) await print(text)
  else await writeNew(values.out, text)
  return 0
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

/** A configuration that somebody wrote is not replaced. */
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
