import { ownerTerms } from '../admin/owner-terms.ts'
import { retentionOf, usageRulesOf } from '../app/retention.ts'
import { openStoreToLook } from '../app/stores.ts'
import { print } from '../lib/print.ts'
import type { Store } from '../store/store.ts'
import { isOfRuns, readUsageQuery, USAGE_FIELDS, type UsageFields, type UsageQuery } from '../usage/usage-query.ts'
import { readUsage } from '../usage/usage-reading.ts'
import { piecesOf, writerOf } from '../usage/usage-text.ts'
import { type Loaded, withStore } from './config.ts'
import { CONFIG_OPTION, readArguments } from './config-option.ts'
import { deskOf } from './desk.ts'
import { UsageError } from './usage-error.ts'

const TEXT = { type: 'string' } as const
/** The most rows that `--limit` may ask for. */
const MOST = 100_000

/** Prints usage from the configured store without asking a gateway. */
export async function usage(args: readonly string[]): Promise<number> {
  const { values, positionals } = readArguments(args, {
    ...CONFIG_OPTION,
    ...(Object.fromEntries(USAGE_FIELDS.map((name) => [name, TEXT])) as Record<keyof UsageFields, typeof TEXT>),
    format: { type: 'string', default: 'csv' },
    limit: { type: 'string', default: '100' },
  })
  if (positionals.join(' ') !== 'export') throw new UsageError('usage takes export')
  const { config: file, format, limit, ...fields } = values
  if (format !== 'csv' && format !== 'ndjson') throw new UsageError('--format takes csv or ndjson')
  const rows = /^\d{1,6}$/.test(limit) ? Number(limit) : 0
  if (rows < 1 || rows > MOST) throw new UsageError(`--limit takes a whole number from 1 to ${MOST}`)
  const open = ({ config }: Loaded) => openStoreToLook(config.store, undefined, retentionOf(config))
  return withStore(file, open, async (store, loaded) => {
    const query = await queryOf(loaded, store, fields)
    const { signal } = new AbortController()
    const found = { reachesOver: false }
    const ofRuns = isOfRuns(query.by) ? await ownerTerms(await deskOf(loaded, store)) : undefined
    const source = { ...store, termsOf: ofRuns }
    const pieces = piecesOf(writerOf(format, query), readUsage(source, { query, limit: rows, signal }, found))
    for await (const piece of pieces) {
      await print(piece)
      // A reader like head that has stopped reading has seen enough.
      if (process.stdout.destroyed) break
    }
    const gaps = found.reachesOver ? [...query.gaps, REACHES_OVER] : query.gaps
    for (const gap of gaps) console.error(`usage: not all of this range is known: ${gap}`)
    return gaps.length === 0 ? 0 : 1
  })
}

const REACHES_OVER = 'a run of the window reaches over its beginning or its end; whole days of usage.zone are exact'

async function queryOf({ config }: Loaded, store: Store, fields: UsageFields): Promise<UsageQuery> {
  const [counted, silences] = [await store.readCounted(), await store.readSilences()]
  const read = readUsageQuery(fields, { ...usageRulesOf(config), ...counted, silences })
  if ('query' in read) return read.query
  throw new UsageError(read.problems.map(({ path, msg }) => `--${path} ${msg}`).join('; '))
}
