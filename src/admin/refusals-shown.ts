import type { RefusalsResponse } from '../contract/api.ts'
import { SCOPE_NAMES, type ScopeName } from '../quota/charged-scopes.ts'
import type { Counter } from '../quota/counter.ts'
import type { Policy } from '../quota/policy.ts'
import type { QuotaStore, UsageSnapshot } from '../quota/quota-store.ts'
import { SCOPE_TITLES } from '../quota/refusal.ts'
import { endOf, type Window } from '../quota/window.ts'
import type { Episode } from '../usage/episodes.ts'
import { iso, isoOrNull } from './http.ts'

type Shown = RefusalsResponse['refusals'][number]
type Reader = Pick<QuotaStore, 'readUsage'>

/** For how many episodes counters are read at once. */
const AT_ONCE = 50

/**
 * Episodes in the form of the API. A run that has not ended is looked up, because emptying its window ends it and its
 * refusals.
 * @param now about the store's time, in milliseconds since the epoch
 * @throws StoreError
 */
export async function showRefusals(
  store: Reader,
  episodes: readonly Episode[],
  policy: Pick<Policy, 'windowsOf'>,
  now: number,
): Promise<Shown[]> {
  const shown: Shown[] = []
  for (let i = 0; i < episodes.length; i += AT_ONCE) {
    const some = episodes.slice(i, i + AT_ONCE)
    shown.push(...(await Promise.all(some.map((episode) => show(store, episode, windowOf(episode, policy), now)))))
  }
  return shown
}

/** The window that refused, with the months of its owner; `undefined` if it is not configured any more. */
function windowOf(episode: Episode, policy: Pick<Policy, 'windowsOf'>): Window | undefined {
  const { user, plan, organisation, periodDay, scope } = episode
  const payer = { user: user ?? '', plan, organisation, ...(periodDay !== undefined && { periodDay }) }
  const windows = policy.windowsOf(payer, scopeOf(scope) ?? 'global')
  return windows.find(({ name }) => name === episode.window)
}

function scopeOf(scope: Episode['scope']): ScopeName | undefined {
  return SCOPE_NAMES.find((each) => SCOPE_TITLES[each] === scope)
}

async function show(store: Reader, episode: Episode, window: Window | undefined, now: number): Promise<Shown> {
  const { id, startedAt, first, last, shadow: _, periodDay: __, ...rest } = episode
  const until = startedAt === null || window === undefined ? null : endOf(window, startedAt)
  const emptied = until !== null && until > now && (await isEmptied(store, episode, window))
  return {
    ...rest,
    cost: episode.cost ?? null,
    until: until === null || emptied ? null : iso(until),
    emptied,
    startedAt: isoOrNull(startedAt),
    first: iso(first),
    last: iso(last),
  }
}

/** Whether the counter has lost or emptied the run, or has a later one. A personal window without a user cannot be looked up. */
async function isEmptied(store: Reader, episode: Episode, window: Window | undefined): Promise<boolean> {
  const { user, organisation, category, scope, startedAt } = episode
  if (user === null && scope === SCOPE_TITLES.personal) return false
  const counter = counterIn(await store.readUsage(user ?? '', [category], organisation), scope)
  const run = counter?.find(({ seconds }) => seconds === window?.seconds)
  // A start in the future was corrected to an earlier one, so the run goes on.
  return run === undefined || run.used === 0 || run.startedAt > (startedAt ?? 0)
}

function counterIn(snapshot: UsageSnapshot, scope: Episode['scope']): Counter | undefined {
  const name = scopeOf(scope)
  return name === undefined ? undefined : snapshot[name]?.[0]
}
