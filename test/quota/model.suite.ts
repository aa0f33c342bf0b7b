import fc from 'fast-check'
import { expect } from 'vitest'
import type { QuotaReset } from '../../src/control/control-store.ts'
import { BOOK_SECONDS, bookWindow } from '../../src/quota/books.ts'
import { amountOf, type Batch, type Charge, type Decision, type Limits, type Refund } from '../../src/quota/charge.ts'
import { SCOPE_NAMES } from '../../src/quota/charged-scopes.ts'
import type { Grant } from '../../src/quota/grant.ts'
import { violations } from '../../src/quota/refusal.ts'
import { type Limit, resetAt, type Usage, type Window } from '../../src/quota/window.ts'
import { runs } from '../setup/runs.ts'
import { CALENDARS, Model } from './model.ts'

/** A store whose clock the test holds. */
export interface ClockedStore {
  settle(batch: Batch, now: number): Promise<readonly Decision[]>
  /** Empties windows of everybody. @returns what was used in them, by name */
  reset(change: QuotaReset, now: number): Promise<Readonly<Record<string, number>>>
  /** What may happen to this store at any moment without changing what it has counted. */
  readonly upsets: readonly (() => Promise<void>)[]
  close(): Promise<void>
}

const HOUR = 3_600_000
const windowsIn = (unit: number): readonly Window[] => [1, 5, 60].map((n) => ({ name: `w${n}`, seconds: n * unit }))
const CALENDAR_WINDOWS: readonly Window[] = [
  { name: '1h', seconds: 3600 },
  ...[...CALENDARS]
    .filter(([seconds]) => seconds !== BOOK_SECONDS)
    .map(([seconds, calendar]) => ({ name: calendar.unit, seconds, calendar })),
]
const BOOKS = bookWindow('Europe/Berlin')
/** Longer than any history, so that no run of a grant ends in one. */
const GRANT_SECONDS = 40_000 * 86_400

/** The windows of a history, when it begins, and how long nothing happens in it. */
interface Times {
  readonly windows: readonly Window[]
  /** Length of the shortest window, in seconds. */
  readonly unit: number
  readonly begin: number
  readonly pauses: readonly number[]
}

// Far ahead, so that a Redis with a clock of its own keeps every key while the test moves the script's clock.
const BEGIN = Date.UTC(2150, 0, 1)

function timesIn(unit: number): Times {
  const [second, five, minute] = [1000 * unit, 5000 * unit, 60_000 * unit]
  const pauses = [1, 2, second / 2, second - 1, second, second + 1, five - second, five - 1, five, minute - 1, minute]
  return { windows: windowsIn(unit), unit, begin: BEGIN, pauses }
}

/** A minute before the day on which the clocks of Berlin are set forward. Three days later the month ends. */
const CALENDAR_TIMES: Times = {
  windows: CALENDAR_WINDOWS,
  unit: 3600,
  begin: Date.UTC(2150, 2, 28, 22, 59),
  pauses: [1, 30_000, 59_999, 60_000, HOUR - 1, HOUR, 22 * HOUR, 23 * HOUR, 24 * HOUR, 47 * HOUR],
}
/** Limits change from one charge to the next, as they do when an administrator turns a knob, and so do the windows in use. */
function limitsIn(windows: readonly Window[]): readonly Limits['personal'][] {
  const limits = [[4, 9, 20], [6, 8, 40], [0, 50, 50], [12, 30, 31], [5, 10], [100]]
  return limits.map((set) => set.map((limit, i) => ({ window: windows[i] as Window, limit })))
}

/** One of them ends within the history. Each is another one for each user and organisation, although they have one id. */
function grantsIn(begin: number, pauses: readonly number[]): NonNullable<Limits['grants']> {
  const grant = (id: string, limit: number, until: number): Grant => {
    return { id, limit, until, window: { name: id, seconds: GRANT_SECONDS } }
  }
  const soon = begin + 3 * Math.max(...pauses)
  return {
    personal: [grant('one', 7, soon), grant('two', 15, begin + 400 * 24 * HOUR)],
    organisation: [grant('three', 10, begin + 400 * 24 * HOUR)],
  }
}

type Step =
  | {
      readonly kind: 'batch'
      readonly charges: readonly Charge[]
      /** Which charge, and what it is to cost; `null` for nothing, as a refund has it. */
      readonly refunds: readonly (readonly [which: number, cost: number | null])[]
      readonly replyLost: boolean
    }
  | { readonly kind: 'pass'; readonly ms: number }
  | { readonly kind: 'upset'; readonly which: number }
  | { readonly kind: 'reset'; readonly change: QuotaReset }

function stepIn({ windows, unit, begin, pauses }: Times): fc.Arbitrary<Step> {
  const LIMITS = limitsIn(windows)
  const grants = grantsIn(begin, pauses)
  const free: fc.Arbitrary<Charge> = fc.record({
    user: fc.constantFrom('alice', 'bob', 'read:alice'),
    // One has the name of a user.
    organisation: fc.constantFrom(null, 'acme', 'alice'),
    category: fc.constantFrom('read', 'write'),
    cost: fc.integer({ min: 1, max: 6 }),
    limits: fc
      .record({
        personal: fc.constantFrom(...LIMITS),
        organisation: fc.option(fc.constantFrom(...LIMITS), { nil: null }),
        global: fc.option(fc.constantFrom(...LIMITS), { nil: null }),
      })
      .chain((limits): fc.Arbitrary<Limits> => {
        const booked = { ...limits, books: BOOKS }
        return fc.constantFrom(limits, booked, { ...limits, grants }, { ...booked, grants })
      }),
  })
  // Further meters are of categories of their own, of the same user.
  const several: fc.Arbitrary<Charge> = fc
    .tuple(free, fc.array(free, { minLength: 1, maxLength: 2 }))
    .map(([first, rest]) => ({ ...first, ...withOthers(first, rest) }))
  // A request that may come again is always the same one, but perhaps for its body.
  const keyed: fc.Arbitrary<Charge> = fc
    .record({
      which: fc.nat(2),
      body: fc.constantFrom('a body', 'a body', 'another'),
      rest: fc.array(free, { maxLength: 2 }),
    })
    .map(({ which, body, rest }) => ({
      ...(which === 1 && rest.length > 0 && withOthers({ user: 'alice', category: 'read' }, rest)),
      user: which === 2 ? 'bob' : 'alice',
      organisation: which === 1 ? 'acme' : null,
      category: 'read',
      cost: 1 + 2 * which,
      limits: {
        personal: LIMITS[which] as Limits['personal'],
        organisation: which === 1 ? (LIMITS[2] ?? null) : null,
        global: which === 0 ? null : (LIMITS[3] ?? null),
        ...(which === 1 && { books: BOOKS }),
        ...(which > 0 && { grants }),
      },
      once: { key: `key ${which}`, body, forMs: ([1000, 3000, 60_000][which] as number) * unit, replays: 1 + which },
    }))
  const charge: fc.Arbitrary<Charge> = fc.oneof(
    { weight: 4, arbitrary: keyed },
    { weight: 9, arbitrary: free },
    { weight: 4, arbitrary: several },
    { weight: 1, arbitrary: free.map((c) => ({ ...c, forced: true as const })) },
    // In the scopes of others alone, or nowhere.
    { weight: 1, arbitrary: free.map((c) => ({ ...c, forced: true as const, limits: { ...c.limits, personal: [] } })) },
  )
  const granted = charge.map(withGrantsOfCategories)
  const jump = fc
    .tuple(fc.constantFrom(-1, 1), fc.constantFrom(1, 500, Math.max(...pauses) / 12, HOUR, 30 * 24 * HOUR))
    .map(([sign, ms]) => sign * ms)
  return fc.oneof(
    {
      weight: 6,
      arbitrary: fc.record({
        kind: fc.constant('batch' as const),
        charges: fc.array(granted, { maxLength: 6 }),
        refunds: fc.array(fc.tuple(fc.nat(1000), fc.constantFrom(null, null, 0, 1, 5, 90)), { maxLength: 2 }),
        replyLost: fc.boolean(),
      }),
    },
    { weight: 4, arbitrary: fc.record({ kind: fc.constant('pass' as const), ms: fc.constantFrom(...pauses) }) },
    // The clock is set to another time, and often to the right one again.
    { weight: 2, arbitrary: fc.record({ kind: fc.constant('pass' as const), ms: jump }) },
    { weight: 1, arbitrary: fc.record({ kind: fc.constant('upset' as const), which: fc.nat(10) }) },
    { weight: 1, arbitrary: fc.record({ kind: fc.constant('reset' as const), change: resetIn(windows) }) },
  )
}

/** A grant is of one category. */
function withGrantsOfCategories(charge: Charge): Charge {
  const { category, limits, others } = charge
  const { grants } = limits
  const own = (all: readonly Grant[]) => all.map((grant) => ({ ...grant, id: `${grant.id}-${category}` }))
  return {
    ...charge,
    ...(others !== undefined && { others: others.map(withGrantsOfCategories) }),
    ...(grants !== undefined && {
      limits: { ...limits, grants: { personal: own(grants.personal), organisation: own(grants.organisation) } },
    }),
  }
}

/** Others for a charge: of its user, and of further categories. */
function withOthers(
  { user, category }: Pick<Charge, 'user' | 'category'>,
  rest: readonly Charge[],
): Pick<Charge, 'others'> {
  const left = ['write', 'read', 'images'].filter((each) => each !== category)
  return { others: rest.map((meter, i) => ({ ...meter, user, category: left[i] as string })) }
}

/** Of one window, or of all, of which the configuration may name only some: of those with a calendar it names each. */
function resetIn(windows: readonly Window[]): fc.Arbitrary<QuotaReset> {
  const calendars = windows.filter(({ calendar }) => calendar !== undefined)
  const others = windows.filter(({ calendar }) => calendar === undefined)
  const which = fc.oneof(
    fc.constantFrom(...windows).map((window) => ({ windows: [window], all: false })),
    fc.subarray([...others]).map((some) => ({ windows: [...some, ...calendars], all: true })),
  )
  return fc
    .tuple(fc.constantFrom('read', 'write'), which)
    .map(([category, of]) => ({ kind: 'quota_reset', category, ...of }))
}

/** A charge is given back after its windows were emptied twice, and charged again, in its millisecond. */
function emptiedTwice({ windows }: Times): Step[] {
  const shared = limitsIn(windows)[0] as Limits['personal']
  const limits = { personal: shared, organisation: null, global: shared }
  const charge: Charge = { user: 'alice', organisation: null, category: 'write', cost: 1, limits }
  const batch = { kind: 'batch', charges: [charge], refunds: [], replyLost: false } as const
  const reset = { kind: 'reset', change: { kind: 'quota_reset', category: 'write', windows, all: true } } as const
  return [batch, reset, reset, batch, { ...batch, refunds: [[0, null]] }]
}

/** A request with a key is charged while the clock is two hours ahead, and comes again when it is right. */
function chargedAhead({ windows }: Times): Step[] {
  const shared = limitsIn(windows)[0] as Limits['personal']
  const once = { key: 'ahead', body: 'a body', forMs: 60_000, replays: 9 }
  const limits = { personal: shared, organisation: null, global: null }
  const charge: Charge = { user: 'alice', organisation: null, category: 'write', cost: 1, limits, once }
  const batch = { kind: 'batch', charges: [charge], refunds: [], replyLost: false } as const
  const pass = (ms: number) => ({ kind: 'pass', ms }) as const
  return [pass(2 * HOUR), batch, pass(-2 * HOUR), batch, pass(59_999), batch, pass(1), batch, batch]
}

/**
 * Runs random histories against a store and the model: same decisions, same numbers, whatever happens in between.
 * @param unit length of the shortest window in seconds; the others are 5 and 60 times as long. Or an hour, a day and a
 *   month of a calendar
 */
export async function agreesWithTheModel(
  open: () => Promise<ClockedStore>,
  unit: number | 'calendar' = 1,
): Promise<void> {
  const times = unit === 'calendar' ? CALENDAR_TIMES : timesIn(unit)
  await fc.assert(
    fc.asyncProperty(fc.array(stepIn(times), { maxLength: 40 }), async (steps) => {
      const store = await open()
      try {
        await play(steps, store, times.begin)
      } finally {
        await store.close()
      }
    }),
    { numRuns: runs(300), examples: [[emptiedTwice(times)], [chargedAhead(times)]] },
  )
}

async function play(steps: readonly Step[], store: ClockedStore, begin: number): Promise<void> {
  const model = new Model()
  const refundable: { refund: Refund; number: number }[] = []
  let now = begin
  let sequence = 0
  let [emptiedAt, isChargedSince] = [0, false]
  for (const step of steps) {
    if (step.kind === 'pass') {
      now += step.ms
      model.passTo(now)
    } else if (step.kind === 'reset') {
      // A charge between two resets of one millisecond is not provided for.
      if (now === emptiedAt && isChargedSince) now++
      await reset(step.change, store, model, now)
      ;[emptiedAt, isChargedSince] = [now, false]
    } else if (step.kind === 'upset') await store.upsets[step.which % store.upsets.length]?.()
    else {
      const given = step.refunds.flatMap(([which, cost]) => {
        const [chosen] = refundable.length > 0 ? refundable.splice(which % refundable.length, 1) : []
        if (chosen === undefined) return []
        model.refund(chosen.number, cost ?? 0, now, cost === null)
        return cost === null ? chosen.refund : { ...chosen.refund, amount: amountOf(chosen.refund) - cost }
      })
      isChargedSince = true
      const batch = {
        instance: 'model',
        sequence: ++sequence,
        charges: step.charges,
        refunds: given,
      }
      let decisions = await store.settle(batch, now)
      // A lost reply: the same batch goes out again, a little later.
      if (step.replyLost) decisions = await store.settle(batch, now + 5000)
      const expected = step.charges.map((c, i) => model.charge(c, now, decisions[i] as Decision))
      expect(decisions).toEqual(expected.map((e) => e.decision))
      decisions.forEach((decision, i) => {
        checkEnds(step.charges[i] as Charge, decision)
      })
      decisions.forEach((decision, i) => {
        const charge = step.charges[i] as Charge
        if (!decision.accepted) return
        expected[i]?.numbers.forEach((number, meter) => {
          refundable.push({ refund: { charge, decision, meter }, number })
        })
      })
    }
  }
}

async function reset(change: QuotaReset, store: ClockedStore, model: Model, now: number): Promise<void> {
  const from = await store.reset(change, now)
  const nameOf = (length: number): string => change.windows.find((w) => w.seconds === length)?.name ?? `${length}s`
  const lengths = change.all ? null : change.windows.map(({ seconds }) => seconds)
  for (const { name } of change.windows) expect(Object.keys(from)).toContain(name)
  model.reset(change.category, lengths, now, (seconds) => from[nameOf(seconds)] ?? 0)
}

/** However the clock was moved, no window has more than its length left, and no refusal names a later moment. */
function checkEnds(charge: Charge, decision: Decision): void {
  const all = SCOPE_NAMES.flatMap((scope) =>
    (charge.limits[scope] ?? []).map((limit, i): [Limit, Usage | undefined] => [limit, decision[scope]?.[i]]),
  )
  for (const [{ window }, usage] of all) {
    if (usage === undefined || usage.startedAt === 0) continue
    expect(usage.startedAt).toBeLessThanOrEqual(decision.at)
    expect(resetAt(usage, window)).toBeGreaterThan(decision.at)
  }
  for (const { limit, resetAt } of violations(charge, decision)) {
    expect(resetAt).toBeLessThanOrEqual(decision.at + limit.window.seconds * 1000)
  }
}
