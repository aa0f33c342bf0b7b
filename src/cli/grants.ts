import { grantsShown } from '../admin/grants-shown.ts'
import { MOST_OF_KEY } from '../admin/idempotency-key.ts'
import { idOfGrant, MOST_LIVE, readNewGrant } from '../admin/new-grant.ts'
import { unseenMark } from '../admin/unseen.ts'
import { parseDuration } from '../config/units.ts'
import type { GrantResponse } from '../contract/api.ts'
import { COMMAND_LINE } from '../control/control-store.ts'
import { endOfGrant } from '../control/grants.ts'
import { reason as checkReason } from '../control/problems.ts'
import { categoriesOf } from '../control/settings.ts'
import { type GivenGrant, storedOf } from '../control/state.ts'
import { isUserId, USER_ID } from '../control/user-id.ts'
import { print } from '../lib/print.ts'
import { StoreError } from '../quota/quota-store.ts'
import type { Store } from '../store/store.ts'
import { type Loaded, nameOf, openingOf, withStore } from './config.ts'
import { CONFIG_OPTION, type Given, readArguments } from './config-option.ts'
import { follower } from './desk.ts'
import { printUnseen } from './unseen.ts'
import { UsageError } from './usage-error.ts'

const TEXT = { type: 'string' } as const
const OPTIONS = {
  ...CONFIG_OPTION,
  ...{ user: TEXT, organisation: TEXT, category: TEXT, tokens: TEXT, until: TEXT, key: TEXT, reason: TEXT },
  json: { type: 'boolean' },
} as const

/** Lists, gives and ends grants in the store, even without a running gateway. */
export async function grants(args: readonly string[]): Promise<number> {
  const { values, positionals } = readArguments(args, OPTIONS)
  const { config, ...options } = values
  const work = workOf(positionals, options)
  return withStore(config, openingOf(work === list), (store, loaded) => work(store, loaded, options))
}

type Options = Given<typeof OPTIONS>
type Work = (store: Store, loaded: Loaded, options: Options) => Promise<number>

const TAKES: Readonly<Record<string, readonly (keyof Options)[]>> = {
  list: ['user', 'organisation', 'json'],
  give: ['user', 'organisation', 'category', 'tokens', 'until', 'key', 'reason'],
  end: ['reason'],
}

function workOf([action = '', ...rest]: readonly string[], options: Options): Work {
  const takes = TAKES[action]
  if (takes === undefined) throw new UsageError('grants takes list, give or end ID')
  const unused = Object.keys(options).find((name) => !takes.some((each) => each === name))
  if (unused !== undefined) throw new UsageError(`grants ${action} does not take --${unused}`)
  for (const name of ['user', 'organisation'] as const) {
    if (options[name] !== undefined && !isUserId(options[name])) throw new UsageError(`--${name} takes ${USER_ID}`)
  }
  if (options.key !== undefined && !(options.key.length >= 1 && options.key.length <= MOST_OF_KEY)) {
    throw new UsageError(`--key takes 1 to ${MOST_OF_KEY} characters`)
  }
  const [problem] = options.reason === undefined ? [] : checkReason(options.reason, '')
  if (problem !== undefined) throw new UsageError(`--reason ${problem.msg}`)
  if (options.user !== undefined && options.organisation !== undefined) {
    throw new UsageError(`grants ${action} takes --user or --organisation: a grant has one owner`)
  }
  const [id] = rest
  if (action === 'end' && (id === undefined || rest.length > 1)) throw new UsageError('grants end takes one ID')
  if (action === 'end') return (store, loaded, { reason }) => end(store, loaded, id ?? '', reason ?? null)
  if (id !== undefined) throw new UsageError(`grants ${action} does not take "${id}"`)
  if (action === 'list') return list
  const lacking = (['category', 'tokens', 'until', 'reason'] as const).find((name) => options[name] === undefined)
  if ((options.user ?? options.organisation) === undefined)
    throw new UsageError('grants give needs --user or --organisation')
  if (lacking !== undefined) throw new UsageError(`grants give needs --${lacking}`)
  return give
}

/** @throws StoreError */
async function stored(store: Store) {
  return storedOf(await follower(store).fresh())
}

async function list(store: Store, { config }: Loaded, { json = false, ...owner }: Options): Promise<number> {
  const found = await grantsShown(store, await stored(store), owner, { most: Number.POSITIVE_INFINITY })
  if (json) {
    await print(`${JSON.stringify(found)}\n`)
    return 0
  }
  const whose = owner.user ?? owner.organisation
  const ofWhom = whose === undefined ? '' : ` of ${whose}`
  if (found.total === 0) console.error(`There are no grants${ofWhom} in ${nameOf(config.store.location)}.`)
  for (const grant of found.grants) await print(`${lineOf(grant).join('\t')}\n`)
  return 0
}

function lineOf(grant: GrantResponse): string[] {
  const { id, category, tokens, taken, reason } = grant
  return [id, ownerOf(grant), category, `${taken} of ${tokens} taken`, stateOf(grant), reason.replace(/\s+/g, ' ')]
}

function ownerOf({ user, organisation }: GivenGrant | GrantResponse): string {
  return user === undefined ? `organisation ${organisation}` : `user ${user}`
}

function stateOf({ live, left, until, endedAt }: GrantResponse): string {
  if (live) return left === 0 ? 'used up' : `good until ${until}`
  return `ended ${endedAt ?? until}`
}

async function give(store: Store, loaded: Loaded, options: Options): Promise<number> {
  const { tokens = '', until = '', key = null, ...of } = options
  const id = idOfGrant(key, COMMAND_LINE)
  const known = (await stored(store)).grants.get(id)?.value
  const { at } = await store.controlVersion()
  const asked = {
    ...of,
    tokens: /^\d+$/.test(tokens) ? Number(tokens) : tokens,
    until: timeIn(until, known?.givenAt ?? at),
  }
  const read = readNewGrant(asked, id, categoriesOf(loaded.config.quota), known, at)
  if ('problems' in read) throw new UsageError(read.problems.map(problemText).join('; '))
  const { change, isKnown } = read.data
  if (isKnown === false) {
    console.error(`tollgate: another grant was given with this key. See: tollgate grants list, where its id is ${id}`)
    return 1
  }
  const author = { who: COMMAND_LINE, why: change.to.reason }
  const made = isKnown === true ? null : await orSayUnknown(store.change(change, author, null))
  const whose = ownerOf(change.to)
  if (made?.done === false) {
    // Another command may have given a grant with this key meanwhile.
    if ((await stored(store)).grants.has(id)) return give(store, loaded, options)
    console.error(`tollgate: ${MOST_LIVE} grants of ${whose} pay already. End one of them: tollgate grants end ID`)
    return 1
  }
  console.log(id)
  const end = new Date(change.to.until).toISOString()
  const [were, noun] = change.to.tokens === 1 ? ['was', 'token'] : ['were', 'tokens']
  const given = made === null ? 'had been given already' : `${were} given`
  console.error(`${change.to.tokens} ${noun} of ${change.to.category} ${given} to ${whose}, until ${end}.`)
  const { user, organisation = '' } = change.to
  const owner = user === undefined ? { organisation } : { user }
  await printUnseen(async () => ((await unseenMark(store, owner)).unseen ? { first: [owner], count: 1 } : NOBODY))
  return 0
}

const NOBODY = { first: [], count: 0 }

/** Unlike the API, the command also accepts a duration. */
function problemText({ path, msg }: { readonly path: string; readonly msg: string }): string {
  const said = path === 'until' ? msg.replace(/^must be a time\b/, 'must be a span such as 7d, or a time') : msg
  return `--${path} ${said}`
}

/** A time as written, or a duration from now. */
function timeIn(text: string, now: number): string {
  const read = parseDuration(text)
  if ('problem' in read || read.value > LONGEST_MS) return text
  return new Date(now + read.value).toISOString()
}

/** A longer duration is not converted, so that it is refused as it was written. */
const LONGEST_MS = 3650 * 86_400_000

async function end(store: Store, { config }: Loaded, id: string, why: string | null): Promise<number> {
  const grant = (await stored(store)).grants.get(id)?.value
  const { at } = await store.controlVersion()
  const isLive = grant !== undefined && endOfGrant(grant) > at
  const change = { kind: 'grant', id, endedAt: at } as const
  const changed = isLive ? await orSayUnknown(store.change(change, { who: COMMAND_LINE, why }, null)) : null
  const isGone = changed?.done === false && changed.version === 0
  if (grant === undefined || isGone) {
    console.error(`tollgate: no grant in ${nameOf(config.store.location)} has the id ${id}. See: tollgate grants list`)
    return 1
  }
  console.error(`Grant ${id} of ${ownerOf(grant)} ${changed?.done === true ? 'is ended' : 'had ended already'}.`)
  return 0
}

/** @throws Error that says what to do if the change may have been made */
async function orSayUnknown<T>(made: Promise<T>): Promise<T> {
  return made.catch((error: unknown) => {
    if (!(error instanceof StoreError) || error.applied === 'no') throw error
    const cure = 'this may have been done. Look at tollgate grants list before you do it again'
    throw new Error(`the store did not reply (${error.message}), so ${cure}`, { cause: error })
  })
}
