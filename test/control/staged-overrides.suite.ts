import { afterEach, beforeEach, expect, it } from 'vitest'
import { createChangeFollower } from '../../src/control/change-follower.ts'
import type { Author, Changed, OverridesChange } from '../../src/control/control-store.ts'
import type { ControlState, UserOverride, Versioned } from '../../src/control/state.ts'
import { STRANGE_IDS } from '../quota/usage.suite.ts'
import type { ControlStoreUnderTest } from './control-store.suite.ts'

const ANN: Author = { who: 'ann', why: 'because' }

const limited = (limit: number): UserOverride => ({
  limits: { read: { '1h': limit } },
  bypassGlobal: false,
  shadow: false,
  reason: '用户 }{ "x"',
  expiresAt: null,
})

type Staged = [user: string, override: Versioned<UserOverride>]

const staged = (users: readonly string[], version: number, limit = 1): Staged[] =>
  users.map((user) => [user, { version, value: limited(limit) }])

const many = (count: number): string[] => Array.from({ length: count }, (_, i) => `user-${i}`)

/** What every store must do with overrides that are put in force together. */
export function stagedOverridesSuite(open: () => Promise<ControlStoreUnderTest>): void {
  let under: ControlStoreUnderTest
  let names = 0
  beforeEach(async () => {
    under = await open()
  })
  afterEach(() => under.close())

  async function stage(overrides: readonly Staged[], name = `stage-${++names}`): Promise<string> {
    for (let i = 0; i < overrides.length; i += 500) {
      await under.store.stageOverrides(name, overrides.slice(i, i + 500))
    }
    return name
  }

  function use(name: string, count: number, base: number): Promise<Changed> {
    const change: OverridesChange = {
      kind: 'overrides',
      staged: name,
      count,
      organisations: 0,
      base,
      from: { a: {} },
      to: { b: [] },
    }
    return under.store.change(change, ANN, null)
  }

  const overrides = async () => (await under.other.readControl()).overrides
  const limitOf = async (user: string) =>
    ((await overrides()).get(user)?.value as UserOverride | undefined)?.limits.read?.['1h']

  it('overrides that are staged are not in force before they are put there', async () => {
    await stage(staged(['alice'], 1))
    expect(await under.other.readControl()).toMatchObject({ version: 0, overrides: new Map() })
  })

  it('overrides that are staged keep those that they replace, under the number of the change, until others are put in force', async () => {
    await use(await stage(staged(many(700), 1)), 700, 0)
    expect(await under.other.readReplaced(1)).toEqual({ overrides: new Map(), organisationOverrides: new Map() })
    await use(await stage([]), 0, 1)
    expect(await under.other.readReplaced(1)).toBeNull()
    expect((await under.other.readReplaced(2))?.overrides).toEqual(new Map(staged(many(700), 1)))
    expect(await Promise.all(['user-699', 'user-700'].map(under.other.keepsReplaced))).toEqual([true, false])
    expect((await overrides()).size).toBe(0)
    await use(await stage(staged(['bob'], 3)), 1, 2)
    expect(await under.other.readReplaced(2)).toBeNull()
    expect((await under.other.readReplaced(3))?.overrides).toEqual(new Map())
    expect(await Promise.all(['user-699', 'bob'].map(under.other.keepsReplaced))).toEqual([false, false])
  })

  it('overrides that are staged of organisations are put in force with those of users, in the place of all others, and kept like these', async () => {
    const of = (limit: number) => ({ limits: { read: { '1h': limit } }, reason: 'r', expiresAt: null })
    for (const organisation of ['acme', 'gone']) {
      await under.store.change({ kind: 'organisation_override', organisation, to: of(1) }, ANN, null)
    }
    const wanted = [...STRANGE_IDS, 'acme'].map((id, i) => [id, { version: 3, value: of(i + 2) }] as const)
    const name = await stage(staged(['alice'], 3))
    await under.store.stageOverrides(name, wanted, 'organisations')
    const change = { kind: 'overrides', staged: name, count: 1, base: 2, from: null, to: null } as const
    const changed = await under.store.change({ ...change, organisations: wanted.length }, ANN, null)
    expect(changed).toMatchObject({ done: true })
    const { overrides, organisationOverrides } = await under.other.readControl()
    expect(organisationOverrides).toEqual(new Map(wanted))
    expect(overrides).toEqual(new Map(staged(['alice'], 3)))
    const set = { kind: 'organisation_override', organisation: 'acme', to: of(9) } as const
    expect(await under.store.change(set, ANN, 3)).toMatchObject({ done: true, entry: { version: 4 } })
    expect((await under.other.readReplaced(3))?.organisationOverrides).toEqual(
      new Map(['acme', 'gone'].map((id, i) => [id, { version: i + 1, value: of(1) }])),
    )
    await use('no others', 0, 4)
    expect((await under.other.readControl()).organisationOverrides).toEqual(new Map())
  })

  it('overrides that are staged take the place of all others together, with one entry of the audit and the versions that were given', async () => {
    await under.store.change({ kind: 'override', user: 'bob', to: limited(7) }, ANN, null)
    await under.store.change({ kind: 'override', user: 'eve', to: limited(8) }, ANN, null)
    const wanted = [...staged(many(1200), 3), ...staged(['bob'], 1, 7)]
    const changed = await use(await stage(wanted), 1201, 2)
    const entry = { version: 3, what: 'overrides', subject: null, from: { a: {} }, to: { b: [] }, why: 'because' }
    expect(changed).toMatchObject({ done: true, entry })
    expect(await overrides()).toEqual(new Map(wanted))
    expect(await under.other.readAudit(null, 1)).toMatchObject([entry])
  })

  it('overrides that are staged of any user ids are kept apart', async () => {
    const wanted = STRANGE_IDS.map((user, i): Staged => [user, { version: 1, value: limited(i) }])
    await use(await stage(wanted), wanted.length, 0)
    expect(await overrides()).toEqual(new Map(wanted))
  })

  it('overrides that are staged may be none: then there are no overrides, and one can be set again', async () => {
    await under.store.change({ kind: 'override', user: 'bob', to: limited(7) }, ANN, null)
    expect(await use('nothing', 0, 1)).toMatchObject({ done: true })
    expect(await overrides()).toEqual(new Map())
    expect(await under.store.change({ kind: 'override', user: 'bob', to: limited(8) }, ANN, 0)).toMatchObject({
      done: true,
      entry: { version: 3, from: null },
    })
    expect(await limitOf('bob')).toBe(8)
  })

  it('overrides that are staged are changed one by one afterwards, each under its version', async () => {
    await use(await stage(staged(['alice', 'bob'], 1, 5)), 2, 0)
    const change = (limit: number, expected: number) =>
      under.store.change({ kind: 'override', user: 'alice', to: limited(limit) }, ANN, expected)
    expect(await change(6, 0)).toEqual({ done: false, version: 1 })
    expect(await change(6, 1)).toMatchObject({ done: true, entry: { version: 2, from: limited(5) } })
    await under.store.change({ kind: 'override', user: 'bob', to: null }, ANN, 1)
    expect(await overrides()).toEqual(new Map([['alice', { version: 2, value: limited(6) }]]))
  })

  it('overrides that are staged are given up after any change that was made meanwhile, and used up by that', async () => {
    await use(await stage(staged(['alice'], 1, 1)), 1, 0)
    const name = await stage(staged(['alice'], 2, 2))
    await under.other.change({ kind: 'reset', user: 'bob' }, ANN, null)
    expect(await use(name, 1, 1)).toEqual({ done: false, version: 2 })
    expect(await limitOf('alice')).toBe(1)
    expect(await use(name, 1, 2)).toEqual({ done: false, version: 2 })
    expect(await limitOf('alice')).toBe(1)
  })

  it('overrides that are staged are not put in force if some are missing', async () => {
    await use(await stage(staged(['alice'], 1, 1)), 1, 0)
    expect(await use(await stage(staged(['bob'], 2)), 2, 1)).toEqual({ done: false, version: 1 })
    expect(await use('never staged', 1, 1)).toEqual({ done: false, version: 1 })
    const ofOrganisations = { kind: 'overrides', staged: 'neither', count: 0, organisations: 1, base: 1 } as const
    const missing = await under.store.change({ ...ofOrganisations, from: null, to: null }, ANN, null)
    expect(missing).toEqual({ done: false, version: 1 })
    expect([...(await overrides()).keys()]).toEqual(['alice'])
  })

  it('overrides that are staged of two administrators at once are put in force one after the other or not at all', async () => {
    const stores = [under.store, under.other]
    const changes = await Promise.all(
      Array.from({ length: 8 }, async (_, i) => {
        const store = stores[i % 2] as typeof under.other
        await store.stageOverrides(`by-${i}`, staged([`of-${i}`], 1, i))
        return store.change(
          { kind: 'overrides', staged: `by-${i}`, count: 1, organisations: 0, base: 0, from: null, to: null },
          ANN,
          null,
        )
      }),
    )
    const won = changes.findIndex(({ done }) => done)
    expect(changes.filter(({ done }) => done)).toHaveLength(1)
    expect([...(await overrides()).keys()]).toEqual([`of-${won}`])
  })

  it('overrides that are staged are followed by every process, which never has a mixture of two editions', async () => {
    const users = many(1100)
    await use(await stage(staged(users, 1, 1)), users.length, 0)
    const follower = createChangeFollower({ store: under.other, observe: () => {}, pollMs: 1e9 })
    const seen = new Set<string>()
    follower.follow(({ overrides }: ControlState) => {
      const limits = new Set([...overrides.values()].map(({ value }) => value.limits.read?.['1h']))
      seen.add(`${overrides.size} of ${[...limits].join()}`)
    })
    try {
      await follower.start()
      let isDone = false
      const following = (async () => {
        while (!isDone) await follower.fresh().catch(() => {})
      })()
      for (let i = 2; i <= 6; i++) await use(await stage(staged(users, i, i)), users.length, i - 1)
      isDone = true
      await following
      const last = await follower.fresh()
      expect(last.version).toBe(6)
      expect(last.overrides).toEqual(new Map(staged(users, 6, 6)))
      for (const each of seen) expect(each).toMatch(/^1100 of \d$/)
    } finally {
      follower.close()
    }
  })
}
