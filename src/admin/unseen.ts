import type { AllOverrides } from '../control/control-store.ts'
import type { Wanted, WantedOverrides, Whose } from '../control/override-file.ts'
import type { GivenGrant } from '../control/state.ts'
import type { HistoryScope, OwnerHistory } from '../quota/history-store.ts'
import { episodePages } from '../usage/episode-pages.ts'
import type { AdminStore } from './desk.ts'

export type SeenStore = Pick<
  AdminStore,
  'readHistory' | 'readMemberships' | 'readNamed' | 'knownFor' | 'listTokens' | 'readRefusals'
>

/** How many ids are looked up together. */
const STEP = 128

/**
 * The names whose owners the store knows by neither a request nor an access key, for example because they are misspelt. An
 * override or a grant is no sign of a request. The cheapest questions come first. @throws StoreError
 */
export async function unseenAmong(
  store: SeenStore,
  scope: HistoryScope,
  ids: Iterable<string>,
): Promise<ReadonlySet<string>> {
  const [all, unseen] = [[...ids], new Set<string>()]
  for (let from = 0; from < all.length; from += STEP) {
    const step = all.slice(from, from + STEP)
    const have = await haveAsked(store, scope, step)
    for (const [i, id] of step.entries()) if (have[i] !== true) unseen.add(id)
  }
  if (unseen.size === 0) return unseen
  for (const { user, organisation = '' } of await store.listTokens()) {
    unseen.delete(scope === 'personal' ? user : organisation)
  }
  for (const shadow of [false, true]) await withoutRefused(store, scope, unseen, shadow)
  return unseen
}

/** The mark in a response whose user or organisation the store does not know. @throws StoreError */
export async function unseenMark(store: SeenStore, whose: Owner): Promise<{ readonly unseen?: true }> {
  const { user, organisation = '' } = whose
  const found =
    user === undefined ? unseenAmong(store, 'organisation', [organisation]) : unseenAmong(store, 'personal', [user])
  return (await found).size === 0 ? {} : { unseen: true }
}

/** One of the two members is set. */
type Owner = Pick<GivenGrant, 'user' | 'organisation'>

/** For each id, whether the store keeps facts from a credential, a first charge, or usage. */
async function haveAsked(store: SeenStore, scope: HistoryScope, ids: readonly string[]): Promise<boolean[]> {
  const named = scope === 'personal' ? store.readMemberships(ids) : store.readNamed(ids)
  const known = scope === 'personal' ? ids.map((id) => store.knownFor(id)) : []
  const read = ids.map((id) => store.readHistory(scope, id))
  const [facts, ages, histories] = await Promise.all([named, Promise.all(known), Promise.all(read)])
  return histories.map(({ history }, i) => facts[i] != null || ages[i] != null || hasUsed(history))
}

function hasUsed(history: OwnerHistory): boolean {
  let has = history.takenOf().size > 0
  history.eachRun(0, Number.MAX_SAFE_INTEGER, () => {
    has = true
  })
  return has
}

/** Removes the names that were refused. If a limit of 0 refuses the first request, nothing but the refusal is kept of it. */
async function withoutRefused(store: SeenStore, scope: HistoryScope, unseen: Set<string>, shadow: boolean) {
  if (unseen.size === 0) return
  const [only] = unseen
  const filter = unseen.size > 1 ? { shadow } : { shadow, [scope === 'personal' ? 'user' : 'organisation']: only }
  for await (const episodes of episodePages(store, filter)) {
    for (const { user, organisation } of episodes) unseen.delete((scope === 'personal' ? user : organisation) ?? '')
    if (unseen.size === 0) return
  }
}

/** Names that the store does not know, in a file of overrides or in a change. */
export interface UnseenNames {
  /** The first 100, with their lines if there are any. */
  readonly first: readonly (Whose & { readonly line?: number })[]
  readonly count: number
}

const MOST_LINES = 100

/** The names in a file of overrides that the store does not know, and for which nothing was set before. @throws StoreError */
export async function unseenLines(store: SeenStore, wanted: WantedOverrides, before: AllOverrides) {
  const newIn = (of: Wanted<unknown>, had: ReadonlyMap<string, unknown>) => [...of.keys()].filter((id) => !had.has(id))
  const lineOf = (of: Wanted<unknown>, id: string) => of.get(id)?.line ?? 0
  const { users, organisations } = wanted
  const lines = [
    ...[...(await unseenAmong(store, 'personal', newIn(users, before.overrides)))].map((user) => ({
      ...{ line: lineOf(users, user), user },
    })),
    ...[...(await unseenAmong(store, 'organisation', newIn(organisations, before.organisationOverrides)))].map(
      (organisation) => ({ line: lineOf(organisations, organisation), organisation }),
    ),
  ].sort((a, b) => a.line - b.line)
  return { first: lines.slice(0, MOST_LINES), count: lines.length } satisfies UnseenNames
}
