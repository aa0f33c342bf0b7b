import { createHash } from 'node:crypto'
import { expect } from 'vitest'
import { creationOf, revocationOf } from '../../src/control/access-key-changes.ts'
import type { AccessKeyRecord } from '../../src/control/access-key-store.ts'
import type { Change } from '../../src/control/control-store.ts'
import type { OrganisationOverride, UserOverride } from '../../src/control/state.ts'
import type { Store } from '../../src/store/store.ts'

/**
 * Changes of every kind, in rounds that are all alike. So the number of the last entry in the audit says what the whole store must hold: a store
 * that has an entry without its effect, or an effect without its entry, is told from every other one.
 */

export const ANN = { who: 'ann', why: null }
const HOUR = { name: '1h', seconds: 3600 }
const LIMITS = {
  personal: [{ window: HOUR, limit: 1000 }],
  organisation: [{ window: HOUR, limit: 1000 }],
  global: [{ window: HOUR, limit: 1000 }],
}

const ofUser = (limit: number): UserOverride => ({
  limits: { read: { '1h': limit } },
  bypassGlobal: false,
  shadow: false,
  reason: `round ${limit}`,
  expiresAt: null,
})
const ofOrganisation = (limit: number): OrganisationOverride => ({
  limits: { read: { '1h': limit } },
  reason: 'r',
  expiresAt: null,
})
const jane = (round: number): string => `jane-${round}@example.org`

function accessKey(round: number): AccessKeyRecord {
  const hash = createHash('sha256').update(String(round)).digest('hex')
  return { id: `key-${round}`, hash, user: 'alice', name: 'n', createdAt: 1, expiresAt: null, revokedAt: null }
}

export interface Step {
  readonly what: string
  /** What is so before. */
  before?(store: Store, round: number, base: number): Promise<unknown>
  changeOf(round: number, base: number): Change
}

/** Of the set that is to be put in force next: a process that was killed before has left one of the same round behind. */
let staged = ''

/** Of one round; `start` is made with a charge of 5 tokens for alice in acme. */
export const STEPS: readonly Step[] = [
  {
    what: 'mode',
    changeOf: (round) => ({ kind: 'settings', to: { mode: round % 2 === 0 ? 'loose' : 'conservative' } }),
  },
  { what: 'override', changeOf: (round) => ({ kind: 'override', user: 'alice', to: ofUser(round) }) },
  {
    what: 'organisation',
    changeOf: (round) => ({ kind: 'organisation_override', organisation: 'acme', to: ofOrganisation(round) }),
  },
  { what: 'key made', changeOf: (round) => creationOf(accessKey(round)) },
  {
    what: 'key revoked',
    changeOf: (round) => revocationOf({ ...accessKey(round), record: accessKey(round) }, 5),
  },
  { what: 'override of jane', changeOf: (round) => ({ kind: 'override', user: jane(round), to: ofUser(round) }) },
  {
    what: 'jane forgotten',
    changeOf: (round) => ({ kind: 'user_forgotten', user: jane(round), alias: `forgotten-${round}` }),
  },
  { what: 'reset', before: charge, changeOf: () => ({ kind: 'reset', user: 'alice' }) },
  {
    what: 'organisation reset',
    before: charge,
    changeOf: () => ({ kind: 'quota_reset', organisation: 'acme', category: 'read', windows: [HOUR], all: true }),
  },
  {
    what: 'global reset',
    before: charge,
    changeOf: () => ({ kind: 'quota_reset', category: 'read', windows: [HOUR], all: true }),
  },
  {
    what: 'all overrides',
    before: async (store, round, base) => {
      staged = crypto.randomUUID()
      const version = base + 1
      await store.stageOverrides(staged, [['alice', { version, value: ofUser(1000 + round) }]])
      await store.stageOverrides(staged, [['acme', { version, value: ofOrganisation(2000 + round) }]], 'organisations')
    },
    changeOf: (_, base) => ({ kind: 'overrides', base, staged, count: 1, organisations: 1, from: null, to: null }),
  },
  {
    what: 'schedule',
    changeOf: (round) => {
      const layer = { id: `s-${round}`, from: 4e12, value: { mode: 'loose' }, until: null, who: 'ann', why: null }
      return { kind: 'settings', to: { layers: [layer] } }
    },
  },
]

/** Each of its own instance: a batch of a name is never one of another process. */
async function charge(store: Store): Promise<void> {
  const one = { user: 'alice', organisation: 'acme', category: 'read', cost: 5, limits: LIMITS }
  await store.settle({ instance: `charging-${crypto.randomUUID()}`, sequence: 1, refunds: [], charges: [one] })
}

/** Makes the change that comes after the last one that the store has. @returns what was changed */
export async function makeNext(
  store: Store,
  prepared: (step: Step, version: number) => void = () => {},
): Promise<string> {
  const { version } = await store.controlVersion()
  const { step, round } = stepAfter(version)
  await step.before?.(store, round, version)
  prepared(step, version)
  await store.change(step.changeOf(round, version), ANN, null)
  return step.what
}

export function stepAfter(version: number): { readonly step: Step; readonly round: number } {
  return { step: STEPS[version % STEPS.length] as Step, round: Math.floor(version / STEPS.length) }
}

/** How often a step was made when the store has so many changes. */
function timesOf(what: string, version: number): number {
  const place = STEPS.findIndex((step) => step.what === what)
  return Math.floor(version / STEPS.length) + (version % STEPS.length > place ? 1 : 0)
}

/** Whether the later of two steps was made last. */
function isLast(later: string, earlier: string, version: number): boolean {
  return timesOf(later, version) >= timesOf(earlier, version)
}

/**
 * All effects are those of the entries in the audit, and there is none besides.
 * @param charged whether tokens were charged for the next change, so that there is something to be emptied
 */
export async function expectOfOnePiece(store: Store, charged: 'yes' | 'no' | 'perhaps'): Promise<void> {
  const { version } = await store.controlVersion()
  const times = (what: string): number => timesOf(what, version)
  const entries = await store.readAudit(null, 1000)
  expect(entries.map((entry) => entry.version)).toEqual(Array.from({ length: version }, (_, i) => version - i))
  const { settings, overrides, organisationOverrides } = await store.readControl()
  const { value } = settings
  if (times('mode') === 0) expect(value).toEqual({})
  else if (isLast('schedule', 'mode', version)) expect(value.layers?.[0]?.id).toBe(`s-${times('schedule') - 1}`)
  else expect(value).toEqual({ mode: times('mode') % 2 === 1 ? 'loose' : 'conservative' })
  const isOfFile = isLast('all overrides', 'organisation', version) && times('organisation') > 0
  expect(
    (organisationOverrides.get('acme')?.value as OrganisationOverride | undefined)?.limits.read?.['1h'] ?? -1,
  ).toBe(isOfFile ? 1999 + times('all overrides') : times('organisation') - 1)
  const isSet = isLast('all overrides', 'override', version) && times('override') > 0
  expect((overrides.get('alice')?.value as UserOverride | undefined)?.limits.read?.['1h'] ?? -1).toBe(
    isSet ? 999 + times('all overrides') : times('override') - 1,
  )
  const there = times('override of jane') > times('jane forgotten') ? [jane(times('jane forgotten'))] : []
  expect([...overrides.keys()].filter((user) => user.startsWith('jane'))).toEqual(there)
  expect(entries.filter(({ subject }) => subject?.startsWith('jane')).map(({ subject }) => subject)).toEqual(there)
  const keys = new Map((await store.listTokens()).map(({ id, revokedAt }) => [id, revokedAt]))
  const made = Array.from({ length: times('key made') }, (_, i): [string, number | null] => [
    `key-${i}`,
    i < times('key revoked') ? 5 : null,
  ])
  expect(keys).toEqual(new Map(made))
  await expectWindows(store, version, charged)
}

/** A window is empty behind its reset, and not before it. */
async function expectWindows(store: Store, version: number, charged: 'yes' | 'no' | 'perhaps'): Promise<void> {
  const usage = await store.readUsage('alice', ['read'], 'acme')
  const used = [usage.personal, usage.organisation, usage.global].map((counters) => counters?.[0]?.[0]?.used ?? 0)
  const next = stepAfter(version).step
  const last = version === 0 ? null : stepAfter(version - 1).step
  const isCharged = next.before !== charge ? 'no' : charged
  for (const [i, what] of ['reset', 'organisation reset', 'global reset'].entries()) {
    const isUsed = (used[i] ?? 0) > 0
    if (last?.what === what && isCharged !== 'perhaps')
      expect([version, what, isUsed]).toEqual([version, what, isCharged === 'yes'])
    else if (next.what === what && isCharged === 'yes') expect([version, what, isUsed]).toEqual([version, what, true])
  }
}
