import type { AlertStore } from '../alerts/alert-store.ts'
import type { AccessKeyStore } from '../control/access-key-store.ts'
import type { ChangeFollower } from '../control/change-follower.ts'
import type { AuditEntry, Author, Change, Changed, ControlStore, Vain } from '../control/control-store.ts'
import type { GuardStore } from '../control/guard-tally.ts'
import type { HandoverStore } from '../control/handover-store.ts'
import { asOverrides } from '../control/overrides.ts'
import { ledBy } from '../control/role.ts'
import type { SessionStore } from '../control/session-store.ts'
import type { ControlState } from '../control/state.ts'
import type { Adaptive } from '../failures/adaptive.ts'
import type { FailureStore } from '../failures/histogram.ts'
import { oneAtATime } from '../lib/serialize.ts'
import type { Observer } from '../observe/observation.ts'
import type { HistoryStore } from '../quota/history-store.ts'
import type { KnownUserStore, KnownUsers } from '../quota/known-users.ts'
import type { MembershipStore } from '../quota/memberships.ts'
import { doNamesMatter, memberOf, type Payer, payerOf } from '../quota/policy.ts'
import { type QuotaStore, StoreError, type UsageStore } from '../quota/quota-store.ts'
import type { ReplicaStore } from '../replicas/presence.ts'
import type { UsageLogStore } from '../usage/usage-log-store.ts'
import type { UsageSource } from '../usage/usage-reading.ts'
import { entryResponse, wishResponse } from './audit-entry.ts'
import { type AdminResponse, type Call, type Identity, refusal } from './http.ts'
import { type IfMatch, readIfMatch } from './if-match.ts'
import { type Setup, type View, viewOf } from './state.ts'

/** The part of the store that administrators use. */
export type AdminStore = QuotaStore &
  Pick<MembershipStore, 'readMemberships' | 'readNamed'> &
  UsageStore &
  FailureStore &
  Pick<UsageLogStore, 'readRefusals'> &
  Pick<KnownUserStore, 'knownFor'> &
  AccessKeyStore &
  ControlStore &
  GuardStore &
  SessionStore &
  HandoverStore &
  ReplicaStore &
  Pick<AlertStore, 'readAlerts' | 'listAlerts'> &
  UsageSource &
  Pick<HistoryStore, 'readCounted'> & { /** @throws StoreError */ ping(): Promise<void> }

type KnownToDesk = Pick<KnownUsers, 'isKnown' | 'lookUp' | 'standing'>

const NOBODY: KnownToDesk = { isKnown: () => false, lookUp: () => false, standing: () => null }

export interface DeskOptions {
  readonly store: AdminStore
  readonly control: Pick<ChangeFollower, 'fresh' | 'state' | 'storeTime'>
  /** From the configuration in force. */
  readonly setup: () => Setup
  /** The adaptive factor of this gateway and its reason, in every mode. */
  readonly adaptive: () => Adaptive
  /** Who may use the part of the global limits for known users. Default nobody. */
  readonly knownUsers?: KnownToDesk
  /** Whether requests are decided without the store. The store may still be readable, for example if its disk is full. */
  readonly lacksStore: () => boolean
  /** Is called for each change that was made or may have been made, for errors that should never happen, and for bad connections. */
  readonly observe?: Observer
}

/** A change of something with a version: the settings, or an override. */
export interface ChangeRequest {
  /** `null` if there is nothing yet. */
  readonly versionOf: (state: ControlState) => number | null
  /** The change to make; `null` for none. */
  readonly changeOf: (state: ControlState) => Change | null | Promise<Change | null>
  /** @param entry of the change; none if nothing was changed */
  readonly response: Responding
  /** The text in the audit before the reason of the call, or instead of it. Default none. */
  readonly why?: string
  /** What the audit says besides the reason. Default nothing. */
  readonly vain?: Vain | undefined
}

type Responding = (entry?: AuditEntry) => AdminResponse | Promise<AdminResponse>

/** The store failed during a change, which may have been made. */
export class OutcomeUnknown extends Error {}

/** How often a change is tried in all, if others make theirs at the same time. */
const TRIES = 20

/** The part that all routes share: the view of everything in force, and the way to make a change. */
export class Desk {
  readonly store: AdminStore
  readonly control: DeskOptions['control']
  readonly setup: DeskOptions['setup']
  readonly adaptive: DeskOptions['adaptive']
  readonly knownUsers: KnownToDesk
  readonly lacksStore: DeskOptions['lacksStore']
  /** For previews and the list of plans, which look through all users: two at once would take twice as many turns from requests. */
  readonly inTurn = oneAtATime()
  readonly #observe: Observer

  constructor({ store, control, setup, adaptive, knownUsers = NOBODY, lacksStore, observe = () => {} }: DeskOptions) {
    this.store = store
    this.control = control
    this.setup = setup
    this.adaptive = adaptive
    this.knownUsers = knownUsers
    this.lacksStore = lacksStore
    this.#observe = observe
  }

  /**
   * Everything in force now, including every earlier change.
   * @param user whose limits are needed. The store is then asked whether this user may use the reserve
   * @throws StoreError
   */
  async view(user?: string): Promise<View> {
    const lookUp = user === undefined ? false : this.knownUsers.lookUp(user)
    const [state, tallies] = await Promise.all([this.control.fresh(), this.store.readTallies(), lookUp])
    return viewOf(this.setup(), state, tallies, this.adaptive(), this.knownUsers.isKnown)
  }

  /**
   * Users with what their credentials last named, which decides their limits. The store is not asked if that cannot matter.
   * @throws StoreError
   */
  async payersOf(users: readonly string[]): Promise<readonly Payer[]> {
    const { quota, hasLeads } = this.setup()
    if (!hasLeads && !doNamesMatter(quota, asOverrides(this.control.state()))) return users.map(payerOf)
    const memberships = await this.store.readMemberships(users)
    return users.map((user, i) => ({ ...payerOf(user), ...memberships[i] }))
  }

  /** @throws StoreError */
  async payerOf(user: string): Promise<Payer> {
    const [payer = payerOf(user)] = await this.payersOf([user])
    return payer
  }

  /** Asks the store which of these users may use the reserve, unless there is no reserve or the process knows it already. Never rejects. */
  async learn(users: readonly string[]): Promise<void> {
    if (this.setup().quota.reserve === undefined) return
    await Promise.all(users.map((user) => this.knownUsers.lookUp(user)))
  }

  /**
   * A payer for each of these organisations, to ask for the organisation's limits. The plan and the day are those that a credential of
   * its users last named. @throws StoreError
   */
  async membersOf(organisations: readonly string[]): Promise<readonly Payer[]> {
    const named = areNamed(this.setup().quota) ? await this.store.readNamed(organisations) : []
    return organisations.map((organisation, i) => memberOf(organisation, named[i]))
  }

  /**
   * Changes something with a version, unless the call's If-Match names another version.
   * @param call says who asks and why
   * @throws StoreError if nothing was changed; OutcomeUnknown if something may have been
   */
  async change(call: Call, { versionOf, changeOf, response, why, vain }: ChangeRequest): Promise<AdminResponse> {
    const ifMatch = readIfMatch(call.headers)
    // An override that has expired counts as none, but keeps its version in the store until it is replaced.
    let hidden = 0
    for (let tries = 0; tries < TRIES; tries++) {
      const state = await this.control.fresh()
      const seen = versionOf(state)
      if (!ifMatch.lets(seen)) return conflict(seen, ifMatch)
      const version = seen ?? 0
      const change = await changeOf(state)
      if (change === null) return response()
      const changed = await this.#make(
        { ...authorOf(call, why), ...(vain && { vain }) },
        change,
        version === 0 ? hidden : version,
      )
      if (changed.done) return afterwards(() => response(changed.entry))
      hidden = changed.version
    }
    return refusal('conflict', 'Others change the same thing all the time. Try again.')
  }

  /**
   * Makes a change of something without a version. An access key that was revoked or forgotten meanwhile is not
   * replaced.
   * @param response does what else belongs to the change
   * @param refused is called if the store did not make the change. By default the response says that somebody has ended its subject
   */
  async record(
    call: Call,
    change: Change,
    response: (entry: AuditEntry) => AdminResponse | Promise<AdminResponse>,
    refused: () => AdminResponse | Promise<AdminResponse> = () => GONE_MEANWHILE,
  ): Promise<AdminResponse> {
    const changed = await this.#make(authorOf(call), change, null)
    if (!changed.done) return refused()
    return afterwards(() => response(changed.entry))
  }

  async #make(author: Author, change: Change, expected: number | null): Promise<Changed> {
    try {
      const changed = await this.store.change(change, author, expected)
      if (changed.done) {
        this.#observe({ type: 'changed', entry: entryResponse(changed.entry), forgotten: changed.forgotten })
      }
      return changed
    } catch (error) {
      if (!(error instanceof StoreError) || error.applied === 'no') throw error
      this.#observe({ type: 'change_unknown', ...wishResponse(change, author) })
      throw outcomeUnknown(error)
    }
  }
}

/** Whether limits may depend on what credentials name. */
function areNamed({ plans, hasNamedDays }: Setup['quota']): boolean {
  return plans !== undefined || hasNamedDays === true
}

const GONE_MEANWHILE = refusal('conflict', 'Somebody has ended this meanwhile, so nothing was changed: read it again.')

/** Runs after a change was made, so a store that fails now does not make the change fail. */
async function afterwards(response: () => AdminResponse | Promise<AdminResponse>): Promise<AdminResponse> {
  try {
    return await response()
  } catch (error) {
    throw error instanceof StoreError ? outcomeUnknown(error) : error
  }
}

function outcomeUnknown(cause: StoreError): OutcomeUnknown {
  return new OutcomeUnknown('the store failed in the middle of a change', { cause })
}

/** The name of an administrator in the audit. A lead is named as one. */
export function authorName(identity: Identity | null): string {
  if (identity === null) return 'nobody'
  const organisation = ledBy(identity.role)
  return organisation === null ? identity.name : `${identity.name} (lead of ${organisation})`
}

/** Who makes a change and why. The route has checked the reason already. */
function authorOf({ identity, body }: Call, before?: string): Author {
  const { reason } = (body ?? {}) as { reason?: unknown }
  const whys = [before, reason].filter((text) => typeof text === 'string')
  return { who: authorName(identity), why: whys.length === 0 ? null : whys.join(': ') }
}

export function etag(version: number): { etag: string } {
  return { etag: `"${version}"` }
}

/** @param seen the present version; `null` for nothing */
export function conflict(seen: number | null, { isStrange }: IfMatch): AdminResponse {
  const version = seen ?? 0
  const now = seen === null ? 'There is none now' : `It was changed meanwhile and has version ${version}`
  const what = isStrange ? 'If-Match names no version, which is a number in quotation marks and nothing else' : now
  const msg = `${what}: read it again, and send If-Match: "${version}".`
  const { status, body } = refusal('version_conflict', msg)
  return { status, body: { ...(body as object), version }, headers: etag(version) }
}
