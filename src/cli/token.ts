import { kindOf } from '../app/store-kinds/kinds.ts'
import { openStore, openStoreToLook } from '../app/stores.ts'
import type { Config } from '../config/config.ts'
import { parseDuration } from '../config/units.ts'
import { creationOf, isRevoked, revocationOf, revocationsOf } from '../control/access-key-changes.ts'
import { hashAccessKey, isTokenName, mintToken } from '../control/access-key-record.ts'
import type { AccessKeyRecord } from '../control/access-key-store.ts'
import { COMMAND_LINE } from '../control/control-store.ts'
import { planOf } from '../control/overrides.ts'
import { isUserId, USER_ID } from '../control/user-id.ts'
import type { Store } from '../store/store.ts'
import { inStore, insistOnStore, loadOrReport, nameOf } from './config.ts'
import { CONFIG_OPTION, configFile, type Given, readArguments } from './config-option.ts'
import { reportUnreadable } from './unreadable.ts'
import { UsageError } from './usage-error.ts'

const TEXT = { type: 'string' } as const
const OPTIONS = { ...CONFIG_OPTION, user: TEXT, name: TEXT, expires: TEXT, plan: TEXT, organisation: TEXT } as const

export async function token(args: readonly string[]): Promise<number> {
  const { values, positionals } = readArguments(args, OPTIONS)
  const { config, ...options } = values
  const work = workOf(positionals, options)
  const loaded = await loadOrReport(configFile(config))
  if (loaded === null) return 1
  const { store: where, quota } = loaded.config
  if (options.plan !== undefined) insistOnPlan(quota, options.plan)
  const name = nameOf(where.location)
  const isNew = kindOf(where.location).isYetToBeMade(where.location)
  if (positionals[0] !== 'create') insistOnStore(loaded)
  const opening = positionals[0] === 'list' ? openStoreToLook(where, reportUnreadable()) : openStore(where, () => {})
  const code = await inStore(loaded, opening, (store) => work(store, name))
  if (isNew) console.error(`Its store ${name} was made with it: a gateway that runs in another folder has another one.`)
  return code
}

type CreateOptions = Given<typeof OPTIONS>

/** @param name of the store */
type Work = (store: Store, name: string) => Promise<number>

/** The author in the audit. */
const AUTHOR = { who: COMMAND_LINE, why: null }

/** Unexpected arguments are errors, because a caller who revokes two keys would believe that it was done. */
function workOf([action, ...rest]: readonly string[], options: CreateOptions): Work {
  const [which] = rest
  if (action !== 'create' && action !== 'list' && action !== 'revoke') {
    throw new UsageError('token takes create, list, revoke ID or revoke --user USER')
  }
  if (action === 'revoke' && which === undefined && options.user !== undefined) return revokeAll(options)
  if (action === 'revoke' && (which === undefined || rest.length > 1)) {
    throw new UsageError('token revoke takes one ID, or --user USER')
  }
  if (action !== 'revoke' && which !== undefined) throw new UsageError(`token ${action} does not take "${which}"`)
  if (action === 'create') return create(options)
  const [unused] = Object.keys(options)
  if (unused !== undefined) throw new UsageError(`token ${action} does not take --${unused}`)
  return which === undefined ? list : (store) => revoke(store, which)
}

function insistOnPlan(quota: Config['quota'], plan: string): void {
  const [problem] = planOf(quota)(plan, 'plan')
  if (problem !== undefined) throw new UsageError(`--plan ${problem.msg}`)
}

function create({ user, name, expires, plan, organisation }: CreateOptions): Work {
  if (user === undefined || name === undefined) throw new UsageError('token create needs --user and --name')
  if (!isUserId(user)) throw new UsageError(`--user takes ${USER_ID}`)
  if (!isTokenName(name)) throw new UsageError('--name takes 1 to 64 characters without control characters')
  if (organisation !== undefined && !isUserId(organisation)) throw new UsageError(`--organisation takes ${USER_ID}`)
  const lifetime = expires === undefined ? null : lifetimeOf(expires)
  const facts = { ...(plan !== undefined && { plan }), ...(organisation !== undefined && { organisation }) }
  return async (store) => {
    const { token, record } = await makeToken(store, { user, name, ...facts, lifetime })
    console.log(token)
    console.error(`The access key ${record.id} of ${user} was made. It is shown this once.`)
    return 0
  }
}

/** Makes and stores an access key. @param of its owner, and its lifetime in milliseconds; `null` for no end @throws StoreError */
export async function makeToken(
  store: Store,
  of: Omit<Parameters<typeof mintToken>[0], 'expiresAt'> & { readonly lifetime: number | null },
): Promise<ReturnType<typeof mintToken>> {
  const { lifetime, ...owner } = of
  const now = Date.now()
  const made = mintToken({ ...owner, expiresAt: lifetime === null ? null : now + lifetime }, now)
  await store.change(creationOf(made.record), AUTHOR, null)
  return made
}

/** A hundred years. No `Date` could represent a much later end, and neither list nor audit could show it. */
const LONGEST_LIFETIME_MS = 36_500 * 86_400_000

function lifetimeOf(text: string): number {
  const read = parseDuration(text)
  if ('problem' in read || read.value === 0 || read.value > LONGEST_LIFETIME_MS) {
    throw new UsageError('--expires takes a duration such as 12h or 30d, at most 36500d')
  }
  return read.value
}

async function list(store: Store, name: string): Promise<number> {
  const now = Date.now()
  const records = await store.listTokens()
  if (records.length === 0) console.error(`There are no access keys in ${name}.`)
  for (const record of records) {
    console.log([record.id, record.user, record.name, stateOf(record, now), lastUseOf(record)].join('\t'))
  }
  return 0
}

function lastUseOf({ usedAt }: AccessKeyRecord): string {
  return usedAt === undefined ? 'never used' : `last used ${new Date(usedAt).toISOString()}`
}

function stateOf({ revokedAt, expiresAt }: AccessKeyRecord, now: number): string {
  if (revokedAt !== null) return `revoked ${new Date(revokedAt).toISOString()}`
  if (expiresAt === null) return 'valid'
  return `${expiresAt <= now ? 'expired' : 'valid until'} ${new Date(expiresAt).toISOString()}`
}

/**
 * @param which the id, or the access key itself, because somebody who finds a leaked key has nothing else. It is not
 * printed, since an imported key may have any form, also that of an id
 */
async function revoke(store: Store, which: string): Promise<number> {
  const found = (await store.findTokens([which]))[0] ?? (await store.findTokenByHash(hashAccessKey(which)))
  if (found == null) {
    console.error('tollgate: no access key has this id, and none is this key. See: tollgate token list')
    return 1
  }
  if (!isRevoked(found)) await store.change(revocationOf(found, Date.now()), AUTHOR, null)
  console.error(`The access key ${found.id} is revoked.`)
  return 0
}

/** Revokes all access keys of one user. */
function revokeAll({ user = '', ...rest }: CreateOptions): Work {
  const [unused] = Object.keys(rest)
  if (unused !== undefined) throw new UsageError(`token revoke does not take --${unused}`)
  if (!isUserId(user)) throw new UsageError(`--user takes ${USER_ID}`)
  return async (store) => {
    let revoked = 0
    for (const change of revocationsOf(user, await store.listTokens(), Date.now())) {
      await store.change(change, AUTHOR, null)
      revoked += change.records.length
    }
    console.error(
      `${revoked} ${revoked === 1 ? 'access key' : 'access keys'} of ${user} ${revoked === 1 ? 'is' : 'are'} revoked.`,
    )
    return 0
  }
}
