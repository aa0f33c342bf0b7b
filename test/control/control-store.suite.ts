import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { importsOf, revocationOf, revocationsOf, rotationOf } from '../../src/control/access-key-changes.ts'
import { hashAccessKey, importedRecord, mintToken } from '../../src/control/access-key-record.ts'
import type { AccessKeyRecord, AccessKeyStore, FoundAccessKey } from '../../src/control/access-key-store.ts'
import type {
  AccessKeysImported,
  AccessKeysRevoked,
  AuditBounds,
  AuditEntry,
  Author,
  Change,
  Changed,
  ControlStore,
} from '../../src/control/control-store.ts'
import { forgettingOf } from '../../src/control/forgetting.ts'
import {
  type ControlState,
  type GivenGrant,
  type LastChange,
  type OrganisationOverride,
  UNCHANGED,
  type UserOverride,
} from '../../src/control/state.ts'
import { everyStep } from '../../src/lib/steps.ts'
import type { Charge, Decision, Limits, Refund } from '../../src/quota/charge.ts'
import { usageOf } from '../../src/quota/counter.ts'
import type { QuotaStore } from '../../src/quota/quota-store.ts'
import type { Window } from '../../src/quota/window.ts'
import { limits } from '../quota/quota-store.suite.ts'
import { STRANGE_IDS } from '../quota/usage.suite.ts'
import { keepAccessKey } from './keep-access-key.ts'

export interface AccessKeyStoreUnderTest {
  readonly store: AccessKeyStore & ControlStore
  close(): Promise<void>
}

const accessKey = (createdAt: number, user = 'alice', expiresAt: number | null = null): AccessKeyRecord =>
  mintToken({ user, name: `made at ${createdAt}`, expiresAt }, createdAt).record
const found = (record: AccessKeyRecord): FoundAccessKey => ({ id: record.id, hash: record.hash, record })

/** What every token store must do. */
export function accessKeyStoreSuite(open: () => Promise<AccessKeyStoreUnderTest>): void {
  let under: AccessKeyStoreUnderTest
  beforeEach(async () => {
    under = await open()
  })
  afterEach(() => under.close())

  const record = accessKey
  const revoke = (kept: AccessKeyRecord, at: number) => under.store.change(revocationOf(found(kept), at), ANN, null)

  describe('an access key', () => {
    it('an access key is found by its id and by its hash, with all that was kept of it', async () => {
      const facts = { plan: '专业 "pro"', organisation: "o'{y}" }
      const kept = [record(1000, '用户 "x" {y}\n', 2000), { ...record(2000), ...facts }]
      for (const each of kept) await keepAccessKey(under.store, each)
      expect(new Set(await under.store.findTokens(kept.map(({ id }) => id)))).toEqual(new Set(kept.map(found)))
      for (const each of kept) expect(await under.store.findTokenByHash(each.hash)).toEqual(found(each))
    })

    it('an access key that nobody made is not found', async () => {
      const kept = record(1000)
      await keepAccessKey(under.store, kept)
      expect(await under.store.findTokens([record(1000).id, kept.hash, '', '*', '__proto__'])).toEqual([])
      expect(await under.store.findTokens([record(1000).id, kept.id])).toEqual([found(kept)])
      expect(await under.store.findTokens([])).toEqual([])
      for (const hash of [record(1000).hash, kept.id, '']) expect(await under.store.findTokenByHash(hash)).toBeNull()
    })

    it('an access key is read with all others in steps', async () => {
      expect(await under.store.readTokens(null)).toEqual({ records: [], next: null })
      const kept = Array.from({ length: 1300 }, (_, i) => record(i, 'alice', i % 2 === 0 ? null : i))
      await Promise.all(kept.map((each) => keepAccessKey(under.store, each)))
      await revoke(kept[7] as AccessKeyRecord, 5000)
      const read = new Map<string, AccessKeyRecord>()
      let steps = 0
      for await (const { records } of everyStep((from: string | null) => under.store.readTokens(from))) {
        for (const each of records) read.set(each.id, each)
        steps++
      }
      expect(steps).toBeGreaterThan(1)
      expect(read).toEqual(new Map(kept.map((each, i) => [each.id, i === 7 ? { ...each, revokedAt: 5000 } : each])))
    })

    it('an access key that ended before a moment is removed, and others stay, whatever else is set of them', async () => {
      const expired = record(1000, 'alice', 4999)
      const revoked = record(1001, 'alice', 9000)
      const stay = [record(1002, 'alice', 5000), record(1003), record(1004, 'alice', null)]
      for (const each of [expired, revoked, ...stay]) await keepAccessKey(under.store, each)
      await revoke(revoked, 4000)
      await revoke(stay[2] as AccessKeyRecord, 5000)
      await under.store.removeTokens(5000)
      expect((await under.store.listTokens()).map(({ createdAt }) => createdAt)).toEqual([1004, 1003, 1002])
      expect(await under.store.findTokens([expired.id, revoked.id])).toEqual([])
      expect(await under.store.findTokenByHash(expired.hash)).toBeNull()
    })

    it('an access key is listed with its last use, whatever is changed of it, and one that is not known is passed over', async () => {
      const [used, other] = [record(2000), record(1000)]
      for (const each of [used, other]) await keepAccessKey(under.store, each)
      await under.store.noteUses(new Map([used.hash, record(1000).hash].map((hash) => [hash, 5000])))
      const uses = async () => (await under.store.listTokens()).map(({ usedAt }) => usedAt)
      expect(await uses()).toEqual([5000, undefined])
      await revoke(used, 6000)
      expect(await uses()).toEqual([5000, undefined])
      await under.store.noteUses(new Map([[used.hash, 7000]]))
      await under.store.noteUses(new Map())
      expect(await uses()).toEqual([7000, undefined])
    })

    it('an access key keeps its latest use, in whatever order replicas note theirs, and one that is made later has none', async () => {
      const [used, later] = [record(2000), record(3000)]
      await keepAccessKey(under.store, used)
      const uses = async () => (await under.store.listTokens()).map(({ usedAt }) => usedAt)
      await Promise.all([9000, 5000, 7000].map((at) => under.store.noteUses(new Map([[used.hash, at]]))))
      expect(await uses()).toEqual([9000])
      const both = [used.hash, later.hash].map((hash) => [hash, 8000] as const)
      await under.store.noteUses(new Map(both))
      await keepAccessKey(under.store, later)
      expect(await uses()).toEqual([undefined, 9000])
      await under.store.noteUses(new Map(both))
      await under.store.noteUses(new Map([[used.hash, 10_000]]))
      expect(await uses()).toEqual([8000, 10_000])
    })

    it('an access key is listed with the others, newest first', async () => {
      const records = [record(3000), record(1000, 'bob'), record(2000)]
      for (const each of records) await keepAccessKey(under.store, each)
      expect((await under.store.listTokens()).map((t) => t.createdAt)).toEqual([3000, 2000, 1000])
    })

    it('an access key made in the same millisecond as another is always listed at the same place', async () => {
      const records = Array.from({ length: 20 }, () => record(1000))
      for (const each of records) await keepAccessKey(under.store, each)
      expect((await under.store.listTokens()).map((t) => t.id)).toEqual(records.map((t) => t.id).sort())
    })

    it('an access key is revoked together with its entry in the audit, and the others stay as they are', async () => {
      const [one, other] = [record(1000), record(2000)]
      for (const each of [one, other]) await keepAccessKey(under.store, each)
      expect(await revoke(one, 5000)).toMatchObject({ done: true, entry: { version: 3 } })
      expect(await under.store.findTokens([one.id])).toEqual([found({ ...one, revokedAt: 5000 })])
      expect(await under.store.findTokens([other.id])).toEqual([found(other)])
      expect(await under.store.readAudit(null, 5)).toMatchObject([
        { what: 'token_revoked', subject: one.id, from: null, to: { user: 'alice', name: 'made at 1000' } },
        { what: 'token_created', subject: other.id },
        { what: 'token_created', subject: one.id },
      ])
    })

    it('an access key that somebody else has made is taken over with others by one change, and is found by its hash', async () => {
      const kept = record(1000)
      await keepAccessKey(under.store, kept)
      const taken = ['one', 'two'].map((key) =>
        importedRecord(
          { hash: hashAccessKey(key), user: 'bob', name: key, organisation: 'acme', expiresAt: 9000 },
          2000,
        ),
      )
      const [change, ...rest] = importsOf(taken)
      expect(rest).toEqual([])
      expect(await under.store.change(change as AccessKeysImported, ANN, null)).toMatchObject({ entry: { version: 2 } })
      for (const each of taken) expect(await under.store.findTokenByHash(each.hash)).toEqual(found(each))
      expect(await under.store.findTokens([kept.id])).toEqual([found(kept)])
      const tokens = taken.map(({ id, user, name }) => ({ id, user, name }))
      const entry = { what: 'tokens_imported', subject: null, from: null, to: { tokens } }
      expect(await under.store.readAudit(null, 1)).toMatchObject([entry])
    })

    it('an access key takes the place of another one by one change, which gives that one its end', async () => {
      const [old, other] = [record(1000), record(2000)]
      for (const each of [old, other]) await keepAccessKey(under.store, each)
      const fresh = record(3000)
      expect(await under.store.change(rotationOf(fresh, old, 9000), ANN, null)).toMatchObject({ entry: { version: 3 } })
      expect(await under.store.findTokens([old.id])).toEqual([found({ ...old, expiresAt: 9000 })])
      expect(await under.store.findTokenByHash(fresh.hash)).toEqual(found(fresh))
      expect(await under.store.findTokens([other.id])).toEqual([found(other)])
      const to = { user: 'alice', replaces: { id: old.id, expiresAt: 9000 } }
      expect(await under.store.readAudit(null, 1)).toMatchObject([{ what: 'token_created', subject: fresh.id, to }])
    })

    it('an access key that was revoked since it was read, or is gone, is not replaced, and stays as it is', async () => {
      const [old, gone] = [record(1000), record(2000)]
      await keepAccessKey(under.store, old)
      await revoke(old, 4000)
      for (const replaced of [old, gone]) {
        expect(await under.store.change(rotationOf(record(5000), replaced, 9000), ANN, null)).toMatchObject({
          done: false,
        })
      }
      expect(await under.store.listTokens()).toEqual([{ ...old, revokedAt: 4000 }])
      expect(await under.store.controlVersion()).toMatchObject({ version: 2 })
    })

    it('an access key is revoked with all others of its user by one change, and those of others stay as they are', async () => {
      const kept = [record(1000), record(2000), record(3000, 'bob')]
      for (const each of kept) await keepAccessKey(under.store, each)
      await revoke(kept[0] as AccessKeyRecord, 4000)
      const another = record(5000)
      await keepAccessKey(under.store, another)
      const [change, ...rest] = revocationsOf('alice', await under.store.listTokens(), 6000)
      expect(rest).toEqual([])
      expect(await under.store.change(change as AccessKeysRevoked, ANN, null)).toMatchObject({ done: true })
      expect((await under.store.listTokens()).map(({ name, revokedAt }) => [name, revokedAt])).toEqual([
        ['made at 5000', 6000],
        ['made at 3000', null],
        ['made at 2000', 6000],
        ['made at 1000', 4000],
      ])
      expect(await under.store.findTokens([another.id])).toEqual([found({ ...another, revokedAt: 6000 })])
      const [entry] = await under.store.readAudit(null, 1)
      const tokens = [another, kept[1]].map((each) => ({ id: each?.id, name: each?.name }))
      expect(entry).toMatchObject({
        what: 'tokens_revoked',
        subject: 'alice',
        from: null,
        to: { user: 'alice', tokens },
      })
      expect(JSON.stringify(entry)).not.toContain(another.hash)
    })
  })
}

export interface RefusingStoreUnderTest extends AccessKeyStoreUnderTest {
  /** From now on the store refuses to write a record of an access key, or an entry of the audit. */
  refuse(what: 'record' | 'entry'): Promise<void>
  /** It takes both again. */
  allow(): Promise<void>
}

/** A change of an access key and its entry in the audit are one write, whichever of the two cannot be made. */
export function accessKeyChangeSuite(open: () => Promise<RefusingStoreUnderTest>): void {
  it.each(['record', 'entry'] as const)('makes or revokes no access key if it cannot write its %s', async (what) => {
    const under = await open()
    try {
      const { store } = under
      const [kept, late] = [accessKey(1000), accessKey(2000)]
      await keepAccessKey(store, kept)
      const all = async () => [await store.listTokens(), await store.readAudit(null, 5), await store.controlVersion()]
      const [tokens, audit, version] = await all()
      await under.refuse(what)
      await expect(keepAccessKey(store, late)).rejects.toMatchObject({ name: 'StoreError' })
      await expect(store.change(revocationOf(found(kept), 5000), ANN, null)).rejects.toMatchObject({
        name: 'StoreError',
      })
      for (const change of revocationsOf(kept.user, tokens as AccessKeyRecord[], 5000)) {
        await expect(store.change(change, ANN, null)).rejects.toMatchObject({ name: 'StoreError' })
      }
      await under.allow()
      expect(await all()).toEqual([tokens, audit, { ...version, at: expect.any(Number) }])
      await store.change(revocationOf(found(kept), 6000), ANN, null)
      expect(await store.listTokens()).toEqual([{ ...kept, revokedAt: 6000 }])
      expect(await store.readAudit(null, 1)).toMatchObject([{ version: 2, what: 'token_revoked', subject: kept.id }])
    } finally {
      await under.close()
    }
  })
}

export interface ControlStoreUnderTest {
  readonly store: ControlStore & QuotaStore
  /** Another process's view of the same data. */
  readonly other: ControlStore
  close(): Promise<void>
}

const ANN: Author = { who: 'ann', why: 'because "quotes"\nand lines' }

const override = (limit: number): UserOverride => ({
  limits: { read: { '1h': limit }, write: {} },
  bypassGlobal: false,
  shadow: false,
  reason: '用户 }{ "x"\n',
  expiresAt: null,
})
const mode = (mode: 'normal' | 'loose' | 'custom'): Change => ({ kind: 'settings', to: { mode } })
const limited = (user: string, limit: number): Change => ({ kind: 'override', user, to: override(limit) })

const ofOrganisation = (limit: number): OrganisationOverride => ({
  limits: { read: { '1d': limit }, write: {} },
  reason: '用户 }{ "x"\n',
  expiresAt: 1,
})
const organisation = (id: string, limit: number | null): Change => ({
  kind: 'organisation_override',
  organisation: id,
  to: limit === null ? null : ofOrganisation(limit),
})

/** What a follower makes of a state and the changes after it. */
function applied(state: ControlState, entries: readonly AuditEntry[]): ControlState {
  const overrides = new Map(state.overrides)
  const organisationOverrides = new Map(state.organisationOverrides)
  const grants = new Map(state.grants)
  let { settings, version, changedAt } = state
  for (const { version: number, at, what, subject, to } of entries) {
    ;[version, changedAt] = [number, at]
    if (what === 'settings') settings = { version, value: to as ControlState['settings']['value'] }
    if (what === 'grant' && subject !== null) grants.set(subject, { version, value: to as GivenGrant })
    if (what === 'organisation_override' && subject !== null) {
      if (to === null) organisationOverrides.delete(subject)
      else organisationOverrides.set(subject, { version, value: to as OrganisationOverride })
    }
    if (what !== 'override' || subject === null) continue
    if (to === null) overrides.delete(subject)
    else overrides.set(subject, { version, value: to as UserOverride })
  }
  return { version, changedAt, settings, overrides, organisationOverrides, grants }
}

function lastOf(entry: AuditEntry | undefined): LastChange {
  return { version: entry?.version ?? 0, changedAt: entry?.at ?? 0 }
}

/** What every store must do with what administrators change. */
export function controlStoreSuite(open: () => Promise<ControlStoreUnderTest>): void {
  let under: ControlStoreUnderTest
  beforeEach(async () => {
    under = await open()
  })
  afterEach(() => under.close())

  async function done(change: Change, expected: number | null = null): Promise<AuditEntry> {
    const changed = await under.store.change(change, ANN, expected)
    if (!changed.done) throw new Error(`conflict with version ${changed.version}`)
    return changed.entry
  }
  const version = async (): Promise<number> => (await under.other.controlVersion()).version
  const versions = (entries: readonly AuditEntry[] | null): number[] => (entries ?? []).map((entry) => entry.version)

  describe('what administrators change', () => {
    it('what administrators change is nothing in a fresh store', async () => {
      expect(await under.store.readControl()).toEqual(UNCHANGED)
      expect(await version()).toBe(0)
      expect(await under.store.changesSince(UNCHANGED)).toEqual([])
      expect(await under.store.readAudit(null, 10)).toEqual([])
    })

    it('what a change sets in vain is kept beside its reason, and stays when a user of such a name is forgotten', async () => {
      const { store, other } = under
      const by = [{ kind: 'no_users', plan: 'gold' }] as const
      const vain = { unfollowed: [{ path: 'plans.gold.personal.read.1h', by }], movesNobody: true }
      const change: Change = { kind: 'settings', to: { mode: 'loose' } }
      const first = await store.change(change, { who: 'ann', why: 'for gold', vain }, null)
      expect(first).toMatchObject({ entry: { why: 'for gold', vain } })
      await store.change(change, ANN, null)
      const forgetting = forgettingOf('gold')
      await store.change(forgetting, ANN, null)
      const [, plain, vainly] = await other.readAudit(null, 10)
      expect(plain).not.toHaveProperty('vain')
      expect(vainly).toMatchObject({ why: `for ${forgetting.alias}`, vain })
    })

    it('what administrators change is kept with a number, who, when, what, from, to and why, and every process reads the same', async () => {
      const { at } = await under.store.controlVersion()
      const first = await done(mode('loose'), 0)
      expect(first).toEqual({
        version: 1,
        at: expect.any(Number),
        who: 'ann',
        what: 'settings',
        subject: null,
        from: null,
        to: { mode: 'loose' },
        why: ANN.why,
      })
      expect(first.at).toBeGreaterThanOrEqual(at)
      expect(first.at).toBeLessThanOrEqual((await under.store.controlVersion()).at)
      const second = await done({ kind: 'settings', to: {} }, 1)
      expect(second).toMatchObject({ version: 2, from: { mode: 'loose' }, to: {} })
      expect(await under.other.readControl()).toEqual({
        ...UNCHANGED,
        version: 2,
        changedAt: second.at,
        settings: { version: 2, value: {} },
      })
      expect(await under.other.readAudit(null, 10)).toEqual([second, first])
      expect(await under.other.changesSince(UNCHANGED)).toEqual([first, second])
    })

    it('what administrators change keeps the overrides of any user ids apart', async () => {
      for (const [i, user] of STRANGE_IDS.entries()) await done(limited(user, i), 0)
      const { overrides } = await under.other.readControl()
      expect([...overrides].sort(([, a], [, b]) => a.version - b.version)).toEqual(
        STRANGE_IDS.map((user, i) => [user, { version: i + 1, value: override(i) }]),
      )
    })

    it('what administrators change takes an override away, after which there is none', async () => {
      await done(limited('alice', 1))
      await done(limited('bob', 2))
      expect(await done({ kind: 'override', user: 'alice', to: null }, 1)).toMatchObject({
        version: 3,
        what: 'override',
        subject: 'alice',
        from: override(1),
        to: null,
      })
      expect([...(await under.other.readControl()).overrides.keys()]).toEqual(['bob'])
      expect(await done(limited('alice', 3), 0)).toMatchObject({ from: null, to: override(3) })
    })

    it('what administrators change keeps the overrides of any organisations apart, also from those of users with the same id', async () => {
      for (const [i, id] of STRANGE_IDS.entries()) await done(organisation(id, i), 0)
      await done(limited(STRANGE_IDS[0] ?? '', 99), 0)
      const { overrides, organisationOverrides } = await under.other.readControl()
      expect([...organisationOverrides].sort(([, a], [, b]) => a.version - b.version)).toEqual(
        STRANGE_IDS.map((id, i) => [id, { version: i + 1, value: ofOrganisation(i) }]),
      )
      expect([...overrides.values()]).toEqual([{ version: STRANGE_IDS.length + 1, value: override(99) }])
    })

    it('what administrators change takes the override of an organisation away, and expects its version', async () => {
      expect(await done(organisation('acme', 1), 0)).toMatchObject({
        what: 'organisation_override',
        subject: 'acme',
        from: null,
        to: ofOrganisation(1),
      })
      await done(limited('acme', 2))
      for (const to of [2, null]) {
        expect(await under.store.change(organisation('acme', to), ANN, 2)).toEqual({ done: false, version: 1 })
      }
      expect(await done(organisation('acme', 2), 1)).toMatchObject({ from: ofOrganisation(1), to: ofOrganisation(2) })
      expect(await done(organisation('acme', null), 3)).toMatchObject({ from: ofOrganisation(2), to: null })
      const state = await under.other.readControl()
      expect([state.organisationOverrides.size, state.overrides.size]).toEqual([0, 1])
      expect(applied(UNCHANGED, (await under.other.changesSince(UNCHANGED)) ?? [])).toEqual(state)
    })

    it('what administrators change is kept as it is, to the last digit', async () => {
      const to = { list: [], map: {}, big: 999_999_999_999, small: 0.1 + 0.2, text: '\\u0000 \u2028 💥', no: null }
      const record = { ...accessKey(1000), id: 'x' }
      expect((await done({ kind: 'token_created', record, to })).to).toEqual(to)
      expect((await under.other.readAudit(null, 1))[0]).toMatchObject({
        what: 'token_created',
        subject: 'x',
        from: null,
        to,
      })
      expect(await under.other.readControl()).toMatchObject({ ...UNCHANGED, version: 1, changedAt: expect.any(Number) })
    })

    it('what administrators change is numbered without a gap under eight writers at once', async () => {
      const writer = async (store: ControlStore, user: string): Promise<Changed[]> => {
        const made: Changed[] = []
        for (let i = 0; i < 10; i++) made.push(await store.change(limited(user, i), ANN, null))
        return made
      }
      const stores = [under.store, under.other]
      const writers = Array.from({ length: 8 }, (_, i) => writer(stores[i % 2] as ControlStore, `user-${i}`))
      const entries = (await Promise.all(writers)).flat().map((changed) => (changed.done ? changed.entry.version : 0))
      expect(entries.sort((a, b) => a - b)).toEqual(Array.from({ length: 80 }, (_, i) => i + 1))
      expect(versions(await under.store.changesSince(UNCHANGED))).toEqual(entries)
      const last = Object.fromEntries([...(await under.store.readControl()).overrides].map(([u, o]) => [u, o.value]))
      expect(last).toEqual(Object.fromEntries(Array.from({ length: 8 }, (_, i) => [`user-${i}`, override(9)])))
    })

    it('what administrators change is read whole, however many overrides there are, also while they change', async () => {
      const users = Array.from({ length: 1300 }, (_, i) => `user-${i}`)
      await Promise.all(users.map((user, i) => done(limited(user, i))))
      expect((await under.other.readControl()).overrides.size).toBe(1300)
      const writing = (async () => {
        for (let i = 0; i < 30; i++)
          await done(i % 3 === 0 ? { kind: 'override', user: `user-${i}`, to: null } : mode('loose'))
      })()
      const state = await under.other.readControl()
      await writing
      const later = await under.other.changesSince(state)
      expect(applied(state as ControlState, later ?? [])).toEqual(await under.other.readControl())
    })
  })

  describe('a change that expects another version', () => {
    it('a change that expects another version changes nothing, and gets the version there is', async () => {
      await done(mode('loose'))
      await done(limited('alice', 1))
      const before = [await under.store.readControl(), await under.store.readAudit(null, 10)]
      for (const expected of [0, 2, 99]) {
        expect(await under.store.change(mode('custom'), ANN, expected)).toEqual({ done: false, version: 1 })
      }
      for (const to of [override(2), null]) {
        const change: Change = { kind: 'override', user: 'alice', to }
        for (const expected of [0, 1]) {
          expect(await under.store.change(change, ANN, expected)).toEqual({ done: false, version: 2 })
        }
      }
      expect(await under.store.change(limited('bob', 1), ANN, 2)).toEqual({ done: false, version: 0 })
      expect([await under.store.readControl(), await under.store.readAudit(null, 10)]).toEqual(before)
    })

    it('a change that expects another version is compared by number, also from ten on', async () => {
      for (let i = 0; i < 11; i++) await done(mode('loose'))
      await done(limited('alice', 1))
      expect(await under.store.change(mode('custom'), ANN, 1)).toEqual({ done: false, version: 11 })
      expect(await under.store.change(limited('alice', 2), ANN, 1)).toEqual({ done: false, version: 12 })
      expect(await done(mode('custom'), 11)).toMatchObject({ version: 13, from: { mode: 'loose' } })
      expect(await done(limited('alice', 2), 12)).toMatchObject({ version: 14, from: override(1) })
    })

    it('a change that expects another version loses against the one of many that comes first', async () => {
      await done(mode('loose'))
      const stores = [under.store, under.other]
      const all = await Promise.all(
        Array.from({ length: 8 }, (_, i) => (stores[i % 2] as ControlStore).change(mode('custom'), ANN, 1)),
      )
      expect(all.filter((changed) => changed.done)).toHaveLength(1)
      expect(await version()).toBe(2)
    })
  })

  describe('a grant', () => {
    const HOUR = 3_600_000
    const given = async (of: Partial<GivenGrant>): Promise<GivenGrant> => {
      const { at } = await under.store.controlVersion()
      const grant = { category: 'read', tokens: 5, givenAt: at, until: at + HOUR, reason: 'an audit', endedAt: null }
      return { ...grant, ...of }
    }
    const give = (id: string, to: GivenGrant, most = 3, store: ControlStore = under.store) =>
      store.change({ kind: 'grant', id, to, most }, ANN, null)
    const ids = async () => [...(await under.other.readControl()).grants.keys()].sort()

    it('a grant is given to an owner who has fewer than may pay, by whichever replicas they are given at once', async () => {
      const odd = 'a"user":"b\\'
      const [own, theirs] = [await given({ user: odd }), await given({ organisation: odd })]
      const { until } = own
      const others = [
        { ...own, until: own.givenAt - 1 },
        { ...own, endedAt: own.givenAt },
        { ...own, user: 'c', reason: odd },
        theirs,
      ]
      for (const [i, other] of others.entries()) expect(await give(`a${i}`, other, 1)).toMatchObject({ done: true })
      const before = await ids()
      const stores = [under.store, under.other]
      const made = await Promise.all(
        Array.from({ length: 8 }, (_, i) => give(`b${i}`, { ...own, until: until + i }, 3, stores[i % 2])),
      )
      expect(made.filter(({ done: isDone }) => isDone)).toHaveLength(3)
      expect(made.find(({ done: isDone }) => !isDone)).toEqual({ done: false, version: 0 })
      const [first = ''] = (await ids()).filter((id) => !before.includes(id))
      expect((await ids()).length).toBe(before.length + 3)
      await done({ kind: 'grant', id: first, endedAt: until })
      expect(await give('c1', own)).toMatchObject({ done: true })
      expect(await give('c2', own)).toEqual({ done: false, version: 0 })
    })

    it('a grant whose id is taken is not given, and the other stays as it is', async () => {
      const to = await given({ user: 'alice' })
      const { version: first } = await done({ kind: 'grant', id: 'a1', to, most: 3 })
      expect(await give('a1', { ...to, tokens: 99 })).toEqual({ done: false, version: first })
      expect((await under.other.readControl()).grants.get('a1')).toEqual({ version: first, value: to })
    })

    it('a grant is ended once, as the store has it, and one that is gone does not come back by its end', async () => {
      const to = await given({ organisation: 'acme', reason: 'for alice, "endedAt":null' })
      await done({ kind: 'grant', id: 'a1', to, most: 3 })
      await done({ kind: 'grant', id: 'a2', to: { ...(await given({ user: 'alice' })) }, most: 3 })
      await done({ kind: 'user_forgotten', user: 'alice', alias: 'forgotten-1' })
      const ended = { ...to, reason: 'for forgotten-1, "endedAt":null', endedAt: to.givenAt + 7 }
      const end = (id: string, endedAt: number) => under.other.change({ kind: 'grant', id, endedAt }, ANN, null)
      expect(await end('a1', to.givenAt + 7)).toMatchObject({ done: true, entry: { version: 4, to: ended } })
      expect(await end('a1', to.givenAt + 8)).toEqual({ done: false, version: 4 })
      expect(await end('a2', to.givenAt + 8)).toEqual({ done: false, version: 0 })
      expect([...(await under.other.readControl()).grants]).toEqual([['a1', { version: 4, value: ended }]])
    })

    it('a grant that is ended at the moment when its user is forgotten is gone, whichever comes first', async () => {
      for (let round = 0; round < 20; round++) {
        const to = await given({ user: `jane-${round}` })
        await done({ kind: 'grant', id: `a${round}`, to, most: 3 })
        const alias = `forgotten-${round}`
        await Promise.all([
          under.store.change({ kind: 'user_forgotten', user: `jane-${round}`, alias }, ANN, null),
          ...[1, 2, 3].map((i) =>
            under.other.change({ kind: 'grant', id: `a${round}`, endedAt: to.givenAt + i }, ANN, null),
          ),
        ])
        expect(await ids()).toEqual([])
      }
    })
  })

  describe('the changes after a version', () => {
    it('the changes after a version are listed up to a hundred; after that, all is to be read', async () => {
      const made: AuditEntry[] = []
      for (let i = 0; i < 101; i++) made.push(await done(limited('alice', i)))
      const since = (i: number) => under.other.changesSince(lastOf(made[i - 1]))
      expect(versions(await since(1))).toEqual(Array.from({ length: 100 }, (_, i) => i + 2))
      expect(await under.other.changesSince(UNCHANGED)).toBeNull()
      expect(await since(101)).toEqual([])
    })

    it('the changes after a version are not listed after one that the store has lost, also if another has its number', async () => {
      const first = lastOf(await done(mode('loose')))
      const second = lastOf(await done(mode('custom')))
      expect(await under.other.changesSince({ ...second, version: 3 })).toBeNull()
      expect(await under.other.changesSince({ ...second, changedAt: second.changedAt - 1 })).toBeNull()
      expect(await under.other.changesSince({ ...first, changedAt: first.changedAt - 1 })).toBeNull()
      expect(versions(await under.other.changesSince(first))).toEqual([2])
    })
  })

  describe('the audit', () => {
    it('the audit is read page by page, newest first', async () => {
      for (let i = 0; i < 7; i++) await done(limited('alice', i))
      const pages: number[][] = []
      for (let before: number | null = null; before === null || before > 1; before = pages.at(-1)?.at(-1) ?? 0) {
        pages.push(versions(await under.other.readAudit(before, 3)))
      }
      expect(pages).toEqual([[7, 6, 5], [4, 3, 2], [1]])
      expect(await under.other.readAudit(1, 3)).toEqual([])
    })
  })

  describe('a reset', () => {
    it("a reset empties the user's windows and nothing else", async () => {
      const of = limits([10, 10], [100, 100])
      const charges = ['alice', 'bob'].flatMap((user) =>
        ['read', 'write'].map((category) => ({ user, organisation: null, category, cost: 3, limits: of })),
      )
      await under.store.settle({ instance: 'reset', sequence: 1, refunds: [], charges })
      await done(limited('alice', 5))
      const before = await under.store.readUsage('bob', ['read', 'write'])
      expect(before.personal.flat().map(({ used }) => used)).toEqual([3, 3, 3, 3])
      expect(await done({ kind: 'reset', user: 'alice' })).toMatchObject({
        version: 2,
        what: 'reset',
        subject: 'alice',
        from: null,
        to: null,
      })
      const { personal } = await under.store.readUsage('alice', ['read', 'write'])
      // A run that began in the millisecond of the reset stays, with nothing used: no later one may have its name.
      expect(personal.flat().filter(({ used }) => used > 0)).toEqual([])
      expect(await under.store.readUsage('bob', ['read', 'write'])).toEqual({ ...before, at: expect.any(Number) })
      expect((await under.store.readControl()).overrides.get('alice')?.value).toEqual(override(5))
      const again = [{ user: 'alice', organisation: null, category: 'read', cost: 10, limits: of }]
      const [decision] = await under.store.settle({ instance: 'reset', sequence: 2, refunds: [], charges: again })
      expect(decision).toMatchObject({ accepted: true, personal: [{ used: 10 }, { used: 10 }] })
    })

    it('a reset has no version that could be another one than was expected', async () => {
      expect(await under.store.change({ kind: 'reset', user: 'alice' }, ANN, 7)).toMatchObject({ done: true })
    })

    it('a reset of a user who used nothing is reported all the same', async () => {
      expect(await done({ kind: 'reset', user: 'nobody' })).toMatchObject({ version: 1, subject: 'nobody' })
    })
  })

  describe('a reset of windows that all users share', () => {
    const of = limits([100, 100], [10, 20])
    const [minute, day] = (of.global ?? []).map(({ window }) => window) as [Window, Window]
    const reset = (windows: readonly Window[], all = false, category = 'read') =>
      done({ kind: 'quota_reset', category, windows, all })
    let sequence = 0
    const charge = (cost: number, category = 'read', user = 'alice', by: Limits = of): Charge => ({
      user,
      organisation: null,
      category,
      cost,
      limits: by,
    })
    const settle = (charges: Charge[], refunds: Refund[] = []) =>
      under.store.settle({ instance: 'quota-reset', sequence: ++sequence, refunds, charges })
    beforeEach(() => {
      sequence = 0
    })
    const used = async (category = 'read') => {
      const { at, global, personal } = await under.store.readUsage('alice', [category])
      const all = [...(global[0] ?? [])].filter(({ startedAt, seconds }) => at < startedAt + seconds * 1000)
      const byLength = new Map(all.map(({ seconds, used }) => [seconds, used]))
      const [minute, day] = [byLength.get(60) ?? 0, byLength.get(86_400) ?? 0]
      return { personal: personal[0]?.map(({ used }) => used), minute, day }
    }

    it('a reset of windows that all users share of an organisation leaves those of its users, of all users and of other organisations alone', async () => {
      const theirs: Limits = { ...of, organisation: of.personal }
      const chargeIn = (organisation: string, category = 'read') => ({
        ...charge(3, category, 'alice', theirs),
        organisation,
      })
      await settle([chargeIn('acme'), chargeIn('other'), chargeIn('acme', 'write')])
      const change = {
        kind: 'quota_reset',
        organisation: 'acme',
        category: 'read',
        windows: [minute, day],
        all: true,
      } as const
      expect(await done(change)).toMatchObject({ subject: 'organisation:read:acme', from: { '1m': 3, '1d': 3 } })
      const usedBy = async (organisation: string) => {
        const { at, ...usage } = await under.store.readUsage('alice', ['read', 'write'], organisation)
        return usage.organisation?.map((counter) => usageOf(counter, day, at).used)
      }
      expect([await usedBy('acme'), await usedBy('other')]).toEqual([
        [0, 3],
        [3, 0],
      ])
      expect(await used()).toEqual({ personal: [6, 6], minute: 6, day: 6 })
    })

    it('a reset of windows that all users share empties them all, says what was used, and leaves users and other categories alone', async () => {
      await settle([charge(7), charge(2, 'write')])
      expect(await reset([minute, day], true)).toMatchObject({
        version: 1,
        who: 'ann',
        what: 'quota_reset',
        subject: 'global:read',
        from: { '1m': 7, '1d': 7 },
        to: { '1m': 0, '1d': 0 },
        why: ANN.why,
      })
      expect((await under.other.readAudit(null, 10))[0]?.from).toEqual({ '1m': 7, '1d': 7 })
      expect(versions(await under.other.changesSince(UNCHANGED))).toEqual([1])
      expect(await used()).toEqual({ personal: [7, 7], minute: 0, day: 0 })
      expect(await used('write')).toEqual({ personal: [2, 2], minute: 2, day: 2 })
      expect(await settle([charge(10)])).toMatchObject([{ accepted: true, global: [{ used: 10 }, { used: 10 }] }])
    })

    it('a reset of windows that all users share empties one of them, and the others keep what was used and when they started', async () => {
      const [first] = await settle([charge(7)])
      expect(await reset([minute])).toMatchObject({ from: { '1m': 7 }, to: { '1m': 0 } })
      expect((await used()).day).toBe(7)
      const [next] = await settle([charge(5)])
      expect(next).toMatchObject({ accepted: true, global: [{ used: 5 }, { used: 12, startedAt: first?.at }] })
    })

    it('a reset of windows that all users share of windows that do not run says 0, and is an entry all the same', async () => {
      expect(await reset([minute, day], true)).toMatchObject({ from: { '1m': 0, '1d': 0 }, to: { '1m': 0, '1d': 0 } })
      await settle([charge(3, 'write')])
      expect(await reset([minute], false, 'constructor')).toMatchObject({ version: 2, from: { '1m': 0 } })
      expect((await used('write')).minute).toBe(3)
    })

    it('a reset of windows that all users share of all empties those too that only another configuration names, called by their seconds', async () => {
      const hour = { name: 'an hour', seconds: 3600 }
      await settle([charge(4, 'read', 'alice', { ...of, global: [{ window: hour, limit: 9 }] }), charge(3)])
      expect(await reset([minute], true)).toMatchObject({ from: { '1m': 3, '3600s': 4, '86400s': 3 } })
      expect(await used()).toMatchObject({ minute: 0, day: 0 })
    })

    it('a reset of windows that all users share names a window as the configuration does', async () => {
      await settle([charge(4)])
      for (const name of ['"quoted" \\', '配额', '__proto__']) {
        const { from } = await reset([{ name, seconds: 86_400 }])
        expect(Object.entries(from as object)).toEqual([[name, expect.any(Number)]])
      }
    })

    it('a reset of windows that all users share leaves a refund of before nothing to take from the run that starts after it', async () => {
      const asked = charge(6)
      const [before] = (await settle([asked])) as [Decision]
      await reset([minute, day], true)
      const [after] = await settle([charge(4)], [{ charge: asked, decision: before }])
      expect(after).toMatchObject({
        accepted: true,
        personal: [{ used: 4 }, { used: 4 }],
        global: [{ used: 4 }, { used: 4 }],
      })
      expect(await settle([charge(7)])).toMatchObject([{ accepted: false, global: [{ used: 4 }, { used: 4 }] }])
    })

    it('among charges that are settled at the same time lets no more through than the limit for each reset', async () => {
      const most = 10
      let accepted = 0
      const resets: AuditEntry[] = []
      const charging = async (user: string): Promise<void> => {
        for (let i = 1; i <= 60; i++) {
          const charges = [charge(1, 'read', user), charge(2, 'read', user)]
          const decisions = await under.store.settle({ instance: user, sequence: i, refunds: [], charges })
          decisions.forEach(({ accepted: isAccepted }, n) => {
            if (isAccepted) accepted += (charges[n] as Charge).cost
          })
        }
      }
      const resetting = async (): Promise<void> => {
        for (let i = 0; i < 25; i++) {
          resets.push(await reset([minute, day], true))
          await new Promise((resolve) => setTimeout(resolve, 2))
        }
      }
      await Promise.all([...['a', 'b', 'c', 'd'].map(charging), resetting()])
      const emptied = resets.map(({ from }) => (from as Record<string, number>)['1m'] ?? 0)
      for (const one of emptied) expect(one).toBeLessThanOrEqual(most)
      // What was accepted is what the resets have emptied and what is left: nothing is lost, nothing is counted twice.
      expect(emptied.reduce((sum, one) => sum + one, (await used()).minute)).toBe(accepted)
      expect(accepted).toBeGreaterThan(most)
    })
  })

  it('reports a change through the same object to whoever listens, until the listener unsubscribes', async () => {
    let heard = 0
    const stop = under.store.onChange(() => heard++)
    await done(mode('loose'))
    await expect.poll(() => heard, { timeout: 30_000 }).toBeGreaterThan(0)
    stop()
    const last = heard
    await done(mode('normal'))
    await new Promise((resolve) => setTimeout(resolve, 200))
    expect(heard).toBe(last)
  })
}

/** @param open a store whose audit keeps so many entries */
export function auditBoundSuite(
  open: (bounds: AuditBounds) => Promise<{ readonly store: Omit<ControlStore, 'onChange'>; close(): Promise<void> }>,
): void {
  it('keeps entries of each kind beyond the newest, so that many of one kind wash out none of another, and counts the others', async () => {
    const { store, close } = await open({ newest: 5, olderOfKind: 2 })
    const changes: Change[] = [
      { kind: 'settings', to: { mode: 'loose' } },
      { kind: 'token_created', record: accessKey(1000), to: { user: 'alice', name: '","what":"override","' } },
      { kind: 'reset', user: 'alice' },
    ]
    const flood = Array.from({ length: 20 }, (_, i) => limited('bob', i))
    let forgotten = 0
    try {
      for (const change of [...changes, ...flood]) {
        const changed = await store.change(change, { who: '"what":"override"', why: 'x' }, null)
        if (changed.done) forgotten += changed.forgotten
      }
      const entries = await store.readAudit(null, 100)
      expect(entries.map(({ version }) => version)).toEqual([23, 22, 21, 20, 19, 18, 17, 3, 2, 1])
      expect(entries.slice(-3).map(({ what }) => what)).toEqual(['reset', 'token_created', 'settings'])
      expect(entries.at(-1)).toMatchObject({ to: { mode: 'loose' }, why: 'x' })
      expect([forgotten, await store.forgottenChanges()]).toEqual([13, 13])
      const pages: number[] = []
      for (let before: number | null = null; pages.length < 10; before = pages.at(-1) ?? 0) {
        pages.push(...(await store.readAudit(before, 3)).map(({ version }) => version))
      }
      expect(pages).toEqual(entries.map(({ version }) => version))
      // Between what is kept of each kind something is missing: whoever follows from there reads everything.
      const [third] = await store.readAudit(4, 1)
      expect(await store.changesSince(lastOf(third))).toBeNull()
      expect((await store.changesSince(lastOf(entries[4])))?.map(({ version }) => version)).toEqual([20, 21, 22, 23])
    } finally {
      await close()
    }
  })

  it('forgets the oldest entries of the audit one by one, and then lists no changes after them', async () => {
    const { store, close } = await open({ newest: 5, olderOfKind: 0 })
    const made: AuditEntry[] = []
    try {
      for (let i = 0; i < 8; i++) {
        const changed = await store.change(limited('alice', i), ANN, null)
        if (changed.done) made.push(changed.entry)
        const entries = (await store.readAudit(null, 100)).map((entry) => entry.version)
        expect(entries).toEqual(Array.from({ length: Math.min(5, i + 1) }, (_, back) => i + 1 - back))
      }
      expect(await store.controlVersion()).toMatchObject(lastOf(made[7]))
      expect((await store.changesSince(lastOf(made[3])))?.map((entry) => entry.version)).toEqual([5, 6, 7, 8])
      expect(await store.changesSince(lastOf(made[2]))).toBeNull()
      expect(await store.changesSince(UNCHANGED)).toBeNull()
    } finally {
      await close()
    }
  })
}
