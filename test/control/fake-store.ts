import { type AuditEntry, type Change, type ControlStore, subjectOf } from '../../src/control/control-store.ts'
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
} from '../../src/control/state.ts'
import { StoreError } from '../../src/quota/quota-store.ts'

/** A ControlStore in memory whose clock, failures, hints and pace the test has in hand. */
export interface FakeStore extends ControlStore {
  /** The store's time. */
  at: number
  /** Every call fails while it is set. */
  out: boolean
  /** Hints reach nobody while it is set. */
  isDeaf: boolean
  /** Answers come after this. */
  pace: Promise<void>
  /** Changes that it forgets, oldest first: as when it was read anew with more than 100, or after a restart. */
  remembered: number
  /** What was asked, in order. */
  readonly asked: string[]
  /** The most calls that were under way at once. */
  readonly most: () => number
  /** Loses the last changes, as a primary that failed over before it had sent them on. */
  lose(changes: number): void
  set(change: Change): Promise<number>
}

export function createFakeStore(): FakeStore {
  const entries: AuditEntry[] = []
  const listeners = new Set<() => void>()
  const staged = new Map<string, Map<string, Versioned<Packed<UserOverride>>>>()
  /** By the version that put them in force. */
  const whole = new Map<number, ReadonlyMap<string, Versioned<Packed<UserOverride>>>>()
  let underWay = 0
  let most = 0

  async function response<T>(what: string, value: () => T): Promise<T> {
    store.asked.push(what)
    most = Math.max(most, ++underWay)
    try {
      await store.pace
      if (store.out) throw new StoreError('nobody there', 'connection', 'no')
      return value()
    } finally {
      underWay--
    }
  }

  function stateOf(): StoredControl {
    let overrides: Map<string, Versioned<Packed<UserOverride>>> = new Map(UNCHANGED.overrides)
    const organisationOverrides = new Map(UNCHANGED.organisationOverrides)
    const grants = new Map(UNCHANGED.grants)
    let settings = UNCHANGED.settings
    for (const { version, what, subject, to } of entries) {
      if (what === 'settings') settings = { version, value: to as Changes }
      else if (what === 'overrides') overrides = new Map(whole.get(version))
      else if (what === 'override' && to === null) overrides.delete(subject ?? '')
      else if (what === 'override') overrides.set(subject ?? '', { version, value: to as UserOverride })
      else if (what === 'organisation_override' && to === null) organisationOverrides.delete(subject ?? '')
      else if (what === 'grant') grants.set(subject ?? '', { version, value: to as GivenGrant })
      else if (what === 'organisation_override') {
        organisationOverrides.set(subject ?? '', { version, value: to as OrganisationOverride })
      }
    }
    return { ...last(), settings, overrides, organisationOverrides, grants }
  }

  function last(): LastChange {
    return { version: entries.length, changedAt: entries.at(-1)?.at ?? 0 }
  }

  function since({ version, changedAt }: LastChange): AuditEntry[] | null {
    const isKnown = version === 0 || entries[version - 1]?.at === changedAt
    return isKnown && entries.length - version <= store.remembered ? entries.slice(version) : null
  }

  const store: FakeStore = {
    at: Date.UTC(2026, 7, 6, 15),
    out: false,
    isDeaf: false,
    pace: Promise.resolve(),
    remembered: 100,
    asked: [],
    most: () => most,
    lose: (changes) => void entries.splice(-changes),
    async set(change) {
      const done = await store.change(change, { who: 'ada', why: null }, null)
      return done.done ? done.entry.version : 0
    },
    controlVersion: () => response('version', () => ({ ...last(), at: store.at })),
    readControl: () => response('everything', stateOf),
    changesSince: (from) => response(`since ${from.version}`, () => since(from)),
    async change(change, { who, why }) {
      const subject = subjectOf(change)
      const to = 'to' in change ? change.to : null
      if (change.kind === 'overrides') whole.set(entries.length + 1, staged.get(change.staged) ?? new Map())
      const entry = { version: entries.length + 1, at: store.at, who, what: change.kind, subject, from: null, to, why }
      entries.push(entry)
      if (!store.isDeaf) for (const listener of listeners) listener()
      return { done: true, entry, forgotten: 0 }
    },
    forgetGrants: async () => {},
    async stageOverrides(name, overrides) {
      staged.set(
        name,
        new Map([...(staged.get(name) ?? []), ...(overrides as [string, Versioned<Packed<UserOverride>>][])]),
      )
    },
    readReplaced: async () => null,
    keepsReplaced: async () => false,
    readAudit: (before, limit) =>
      response('audit', () =>
        entries
          .slice(0, (before ?? 1e9) - 1)
          .slice(-limit)
          .reverse(),
      ),
    forgottenChanges: () => response('forgotten', () => 0),
    onChange(listener) {
      listeners.add(listener)
      return () => void listeners.delete(listener)
    },
  }
  return store
}
