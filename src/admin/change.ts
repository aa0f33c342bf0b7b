import type { TokenStore } from '../control/access-key.ts'
import type { AuditEntry, Author, Change, Changed, ControlStore } from '../control/control-store.ts'
import type { ControlKeeper } from '../control/keeper.ts'
import type { ControlState } from '../control/state.ts'
import type { Adaptive } from '../failures/adaptive.ts'
import type { FailureStore } from '../failures/histogram.ts'
import type { Observer } from '../observe/observation.ts'
import { type QuotaStore, StoreError, type UsageStore } from '../quota/quota-store.ts'
import type { ReplicaStore } from '../replicas/replica.ts'
import { entryResponse, wishResponse } from './audit-entry.ts'
import { type AdminResponse, type Call, refusal } from './http.ts'
import { type IfMatch, readIfMatch } from './if-match.ts'
import { type Setup, type View, viewOf } from './state.ts'

/** The store, as the administrators see it. */
export type AdminStore = QuotaStore &
  UsageStore &
  FailureStore &
  TokenStore &
  ControlStore &
  ReplicaStore & { /** @throws StoreError */ ping(): Promise<void> }

export interface DeskOptions {
  readonly store: AdminStore
  readonly control: Pick<ControlKeeper, 'fresh' | 'state'>
  /** Of the configuration in force. */
  readonly setup: () => Setup
  /** The adaptive factor by which this gateway goes, and why; in every mode. */
  readonly adaptive: () => Adaptive
  /** Whether requests are decided without the store, though it may still be read: a replica, a full disk. */
  readonly lacksStore: () => boolean
  /** Is told of each change that was made, and of errors that should never happen. */
  readonly observe?: Observer
}

/** What the routes share: the view of everything in force, and the way of a change. */
export interface Desk extends DeskOptions {
  /** As it is now, with every change that was made before. @throws StoreError */
  view(): Promise<View>
  /**
   * Changes what has a version, unless the call's If-Match names another one.
   * @param call who asks, and why
   * @throws StoreError where nothing was changed; OutcomeUnknown where something may have been
   */
  change(call: Call, wish: Wish): Promise<AdminResponse>
  /** The same for what has none. @param answer does what else belongs to the change, as it was made */
  record(
    call: Call,
    change: Change,
    response: (entry: AuditEntry) => AdminResponse | Promise<AdminResponse>,
  ): Promise<AdminResponse>
}

/** A change of what the state has a version for: settings, or the override of a user. */
export interface Wish {
  /** `null` where there is nothing yet. */
  readonly versionOf: (state: ControlState) => number | null
  /** What to change; `null` where nothing is to be. */
  readonly changeOf: (state: ControlState) => Change | null
  readonly response: Answering
}

type Answering = () => AdminResponse | Promise<AdminResponse>

/** The store failed in the middle of a change: it may have been made. */
export class OutcomeUnknown extends Error {}

/** So often a change is tried again when others make theirs at the same moment. */
const TRIES = 20

export function createDesk(options: DeskOptions): Desk {
  const { store, control, setup, adaptive, observe = () => {} } = options

  async function view(): Promise<View> {
    const [state, tallies] = await Promise.all([control.fresh(), store.readTallies()])
    return viewOf(setup(), state, tallies, adaptive())
  }

  async function change(call: Call, { versionOf, changeOf, response }: Wish): Promise<AdminResponse> {
    const ifMatch = readIfMatch(call.headers)
    // An override that has expired counts as none, and is stored under its version until it is replaced.
    let hidden = 0
    for (let tries = 0; tries < TRIES; tries++) {
      const state = await control.fresh()
      const seen = versionOf(state)
      if (!ifMatch.lets(seen)) return conflict(seen, ifMatch)
      const version = seen ?? 0
      const change = changeOf(state)
      if (change === null) return response()
      const changed = await make(call, change, version === 0 ? hidden : version)
      if (changed.done) return afterwards(response)
      hidden = changed.version
    }
    return refusal('conflict', 'Others change the same thing all the time. Try again.')
  }

  async function record(
    call: Call,
    change: Change,
    response: (entry: AuditEntry) => AdminResponse | Promise<AdminResponse>,
  ): Promise<AdminResponse> {
    const changed = await make(call, change, null)
    if (!changed.done) throw new Error(`a ${change.kind} has no version to conflict with`)
    return afterwards(() => response(changed.entry))
  }

  async function make(call: Call, change: Change, expected: number | null): Promise<Changed> {
    try {
      const changed = await store.change(change, authorOf(call), expected)
      if (changed.done) observe({ type: 'changed', entry: entryResponse(changed.entry), forgotten: changed.forgotten })
      return changed
    } catch (error) {
      if (!(error instanceof StoreError) || error.applied === 'no') throw error
      observe({ type: 'change_unknown', ...wishResponse(change, authorOf(call)) })
      throw outcomeUnknown(error)
    }
  }

  return { ...options, view, change, record }
}

/** What comes after a change was made: a store that fails now says nothing against it. */
async function afterwards(response: Answering): Promise<AdminResponse> {
  try {
    return await response()
  } catch (error) {
    throw error instanceof StoreError ? outcomeUnknown(error) : error
  }
}

function outcomeUnknown(cause: StoreError): OutcomeUnknown {
  return new OutcomeUnknown('the store failed in the middle of a change', { cause })
}

/** Who makes a change and why. The route has seen to it that a reason that is there is a good one. */
function authorOf({ identity, body }: Call): Author {
  const { reason } = (body ?? {}) as { reason?: unknown }
  return { who: identity?.name ?? 'nobody', why: typeof reason === 'string' ? reason : null }
}

export function etag(version: number): { etag: string } {
  return { etag: `"${version}"` }
}

function conflict(seen: number | null, { isStrange }: IfMatch): AdminResponse {
  const version = seen ?? 0
  const now = seen === null ? 'There is none now' : `It was changed meanwhile and has version ${version}`
  const what = isStrange ? 'If-Match names no version, which is a number in quotation marks and nothing else' : now
  const msg = `${what}: read it again, and send If-Match: "${version}".`
  const { status, body } = refusal('version_conflict', msg)
  return { status, body: { ...(body as object), version }, headers: etag(version) }
}
