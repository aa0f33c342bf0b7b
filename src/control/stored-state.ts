import { StoreError } from '../quota/quota-store.ts'
import type { AuditEntry, ControlStore } from './control-store.ts'
import {
  type Changes,
  type GivenGrant,
  type LastChange,
  type OrganisationOverride,
  type Packed,
  type StoredControl,
  UNCHANGED,
  type UserOverride,
  type Versioned,
} from './state.ts'

/** The follower's copy of the stored state, with all layers. */
export class StoredState {
  readonly #store: ControlStore
  readonly #onChange: (entry: AuditEntry) => void
  #state: StoredControl = UNCHANGED
  #hasFallen = false

  /** @param onChange is called for each change that is read from the audit, before the change is applied */
  constructor(store: ControlStore, onChange: (entry: AuditEntry) => void) {
    this.#store = store
    this.#onChange = onChange
  }

  get state(): StoredControl {
    return this.#state
  }

  /**
   * Brings the copy up to the last change of the store. Changes that the store has lost no longer count.
   * @returns the entries for a `CoReader`
   * @throws StoreError
   */
  async catchUp(last: LastChange): Promise<readonly AuditEntry[] | null> {
    const entries = await this.#read(last)
    this.#hasFallen = last.version < this.#state.version
    return entries
  }

  async #read(last: LastChange): Promise<readonly AuditEntry[] | null> {
    const { version, changedAt } = this.#state
    // A single lower version may be the late response of a store that is being replaced.
    if (last.version < version) return this.#hasFallen ? this.#readAll() : []
    if (last.version === version && last.changedAt === changedAt) return []
    const entries = await this.#store.changesSince(this.#state)
    if (entries === null) return this.#readAll()
    if (entries.some(replacesAll)) return this.#readAnew()
    this.#apply(this.#state, entries)
    return entries
  }

  /** Everything is read in steps, so changes that were made meanwhile are applied once more. */
  async #readAll(): Promise<null> {
    for (let tries = 0; tries < TRIES; tries++) {
      const all = await this.#store.readControl()
      const later = (await this.#store.changesSince(all)) ?? []
      if (later.some(replacesAll)) continue
      this.#apply(all, later)
      return null
    }
    throw replacedAllTheTime()
  }

  /** Reads anew after all overrides were replaced or a user was forgotten, because such an entry does not contain everything. */
  async #readAnew(): Promise<readonly AuditEntry[] | null> {
    for (let tries = 0; tries < TRIES; tries++) {
      const all = await this.#store.readControl()
      const entries = await this.#store.changesSince(this.#state)
      if (entries === null) return this.#readAll()
      const later = entries.filter(({ version }) => version > all.version)
      if (later.some(replacesAll)) continue
      for (const entry of entries) this.#onChange(entry)
      this.#state = applied(all, later)
      return entries
    }
    throw replacedAllTheTime()
  }

  #apply(from: StoredControl, entries: readonly AuditEntry[]): void {
    for (const entry of entries) this.#onChange(entry)
    this.#state = applied(from, entries)
  }
}

/** How often everything is read if all overrides are replaced or a user is forgotten meanwhile, because the result may be a mixture. */
const TRIES = 5

function replacesAll({ what }: AuditEntry): boolean {
  return what === 'overrides' || what === 'user_forgotten'
}

function replacedAllTheTime(): StoreError {
  return new StoreError('the overrides are replaced faster than they can be read', 'other', 'no')
}

/** Each map of overrides is copied once, however many changes there are. */
function applied(state: StoredControl, entries: readonly AuditEntry[]): StoredControl {
  let { version, changedAt, settings } = state
  const users = changing<Packed<UserOverride>>(state.overrides)
  const organisations = changing<Packed<OrganisationOverride>>(state.organisationOverrides)
  const grants = changing<GivenGrant>(state.grants)
  for (const entry of entries) {
    ;({ version, at: changedAt } = entry)
    if (entry.what === 'settings') settings = { version, value: (entry.to ?? {}) as Packed<Changes> }
    if (entry.what === 'override') users.apply(entry)
    if (entry.what === 'organisation_override') organisations.apply(entry)
    if (entry.what === 'grant') grants.apply(entry)
  }
  return {
    version,
    changedAt,
    settings,
    overrides: users.result(),
    organisationOverrides: organisations.result(),
    grants: grants.result(),
  }
}

/** A map that is copied at its first change. */
function changing<T>(before: ReadonlyMap<string, Versioned<T>>) {
  let changed: Map<string, Versioned<T>> | null = null

  function apply({ version, subject, to }: AuditEntry): void {
    if (subject === null) return
    changed ??= new Map(before)
    if (to === null) changed.delete(subject)
    else changed.set(subject, { version, value: to as T })
  }

  return { apply, result: () => changed ?? before }
}
