import type { AlertRecord } from '../alerts/alert-store.ts'
import type { PersonExportResponse } from '../contract/api.ts'
import type { AuditEntry } from '../control/control-store.ts'
import { isAbout, names } from '../control/forgetting.ts'
import { type ControlState, storedOf } from '../control/state.ts'
import { isBook } from '../quota/books.ts'
import { type Policy, payerOf } from '../quota/policy.ts'
import { endOf } from '../quota/window.ts'
import { episodePages } from '../usage/episode-pages.ts'
import { DAYS } from '../usage/usage-text.ts'
import { auditEntries } from './audit-entries.ts'
import { entryResponse } from './audit-entry.ts'
import type { AdminStore } from './desk.ts'
import { grantsOfOwner } from './grants-shown.ts'
import { iso } from './http.ts'
import { overrideOf } from './override.ts'
import { showRefusals } from './refusals-shown.ts'
import { shownEvent } from './routes/alerts.ts'
import { shownToken } from './routes/tokens.ts'
import { type SeenStore, unseenAmong } from './unseen.ts'

type PersonStore = SeenStore &
  Pick<AdminStore, 'readUsage' | 'readAlerts' | 'listAlerts' | 'readAudit' | 'keepsReplaced'>

export interface PersonOptions {
  readonly store: PersonStore
  /** The state in force. */
  readonly state: ControlState
  readonly policy: Pick<Policy, 'windowsOf'>
  /** Names of the configured alerts. */
  readonly alerts: readonly string[]
}

/** Everything that a store keeps of a user. @throws StoreError */
export async function personOf(user: string, options: PersonOptions): Promise<PersonExportResponse> {
  const { store, state, policy } = options
  const read = await store.readHistory('personal', user)
  const { at, history } = read
  const [membership] = await store.readMemberships([user])
  const windows = policy.windowsOf({ ...payerOf(user), ...membership }, 'personal')
  const knownMs = await store.knownFor(user)
  const usage: PersonExportResponse['usage'][number][] = []
  history.eachRun(0, Number.MAX_SAFE_INTEGER, (category, seconds, startedAt, tokens, isCounted) => {
    const name = isBook({ seconds }) ? DAYS : `${seconds}s`
    const window = windows.find((one) => one.seconds === seconds) ?? { name, seconds }
    const running = isCounted && at < endOf(window, startedAt)
    usage.push({ category, window: window.name, seconds, start: iso(startedAt), tokens, running })
  })
  return {
    user,
    at: iso(at),
    firstChargeAt: knownMs === null ? null : iso(at - knownMs),
    plan: membership?.plan ?? null,
    organisation: membership?.organisation ?? null,
    ...(membership?.periodDay !== undefined && { periodDay: membership.periodDay }),
    override: overrideOf(state, user, at),
    grants: grantsOfOwner(state, 'personal', user, read),
    accessKeys: (await store.listTokens()).filter((token) => token.user === user).map((token) => shownToken(token, at)),
    usage,
    refusals: [...(await refusalsOf(user, false, at, options)), ...(await refusalsOf(user, true, at, options))],
    alerts: await alertsOf(user, options),
    audit: (await entriesOf(user, store)).map(entryResponse),
  }
}

/**
 * Whether a store keeps anything of a user. The id as a word in a reason does not count, because it may be an ordinary word. The cheapest
 * questions come first. @throws StoreError
 */
export async function isKept(user: string, options: PersonOptions): Promise<boolean> {
  const { store, state } = options
  const { overrides, grants } = storedOf(state)
  if (overrides.has(user) || (await store.keepsReplaced(user))) return true
  if ([...grants.values()].some(({ value }) => value.user === user)) return true
  if (!(await unseenAmong(store, 'personal', [user])).has(user)) return true
  if ((await alertsOf(user, options)).length > 0) return true
  for await (const entry of auditEntries(store)) if (isAbout(entry, user)) return true
  return false
}

/** How many events are read of each alert, which is more than a store keeps of one. */
const MOST_EVENTS = 2000

async function refusalsOf(user: string, shadow: boolean, at: number, { store, policy }: PersonOptions) {
  const found: PersonExportResponse['refusals'][number][] = []
  for await (const episodes of episodePages(store, { user, shadow })) {
    const shown = await showRefusals(store, episodes, policy, at)
    found.push(...shown.map((refusal) => ({ ...refusal, shadow })))
  }
  return found
}

async function alertsOf(user: string, { store, alerts }: PersonOptions) {
  const former = (await store.listAlerts()).map(({ alert }) => alert)
  const read = await store.readAlerts([...new Set([...alerts, ...former])], MOST_EVENTS)
  return read.flatMap(({ events }) => eventsOf(user, events))
}

function eventsOf(user: string, events: readonly AlertRecord[]) {
  return events.filter(({ happening }) => happening.scope === 'personal' && happening.subject === user).map(shownEvent)
}

async function entriesOf(user: string, store: Pick<PersonStore, 'readAudit'>): Promise<AuditEntry[]> {
  const found: AuditEntry[] = []
  for await (const entry of auditEntries(store)) if (names(entry, user)) found.push(entry)
  return found
}
