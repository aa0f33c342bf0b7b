/// <reference lib="esnext.temporal" />
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { bookWindow, countedName } from '../../src/quota/books.ts'
import type { Charge, Decision, Limits, Refund } from '../../src/quota/charge.ts'
import type { HistoryStore } from '../../src/quota/history-store.ts'
import type { Window } from '../../src/quota/window.ts'
import { readUsageQuery, type UsageFields } from '../../src/usage/usage-query.ts'
import { readUsage } from '../../src/usage/usage-reading.ts'
import { KEPT_FOR_EVER, type OpenHistory } from '../quota/history.suite.ts'
import { runs } from '../setup/runs.ts'

/** Zones whose clocks are set at midnight, over midnight, by half an hour, or never. */
const ZONES = [
  'Europe/Berlin',
  'America/New_York',
  'America/Santiago',
  'Africa/Cairo',
  'Australia/Lord_Howe',
  'Asia/Kathmandu',
  'UTC',
]
const MINUTE = 60_000
const HOUR = 60 * MINUTE
const WINDOWS: readonly Window[] = [
  { name: '10s', seconds: 10 },
  { name: '1h', seconds: 3600 },
  { name: '1d', seconds: 86_400 },
  { name: '7d', seconds: 7 * 86_400 },
  { name: 'month', seconds: 2_707_201, calendar: { unit: 'month', zone: 'Asia/Shanghai' } },
]
const USERS = ['alice', 'bob']
const ORGANISATIONS = ['acme', 'beta']

type Step =
  | { readonly kind: 'charge'; readonly user: string; readonly organisation: string | null; readonly cost: number }
  | { readonly kind: 'settle'; readonly which: number; readonly to: number }
  | { readonly kind: 'reload'; readonly windows: readonly Window[]; readonly limitsOrganisations: boolean }
  | { readonly kind: 'reset'; readonly user: string }
  | { readonly kind: 'pass'; readonly ms: number }

const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.record({
      kind: fc.constant('charge' as const),
      user: fc.constantFrom(...USERS),
      organisation: fc.constantFrom(null, ...ORGANISATIONS),
      cost: fc.integer({ min: 1, max: 9 }),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant('settle' as const),
      which: fc.nat(100),
      to: fc.integer({ min: 0, max: 20 }),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant('reload' as const),
      windows: fc.subarray([...WINDOWS], { minLength: 1 }),
      limitsOrganisations: fc.boolean(),
    }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('reset' as const), user: fc.constantFrom(...USERS) }) },
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constant('pass' as const),
      ms: fc.constantFrom(1, 11_000, HOUR - 1, 7 * HOUR, 12 * HOUR, 23 * HOUR, 24 * HOUR, 25 * HOUR, 8 * 24 * HOUR),
    }),
  },
)

/** What was charged in the end, and on which date of the zone. */
interface Booked {
  readonly date: string
  readonly user: string
  readonly organisation: string | null
  tokens: number
}

/**
 * Charges, reloads, resets and corrected costs of weeks, in a zone whose clocks are set meanwhile: the invoice of each day and each month is
 * the sum of what was charged on its dates, by the calendar of Temporal and a list of all charges.
 */
export function invoiceSuite(open: OpenHistory): void {
  test('the invoice of each day and of each month is what was charged in it, whatever windows there were', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom(...ZONES),
        fc.nat(11),
        fc.array(step, { maxLength: 40 }),
        async (zone, month, steps) => {
          const store = await open(KEPT_FOR_EVER)
          try {
            // Three days before a month ends.
            const first = Temporal.PlainDate.from({ year: 2150, month: month + 1, day: 1 })
            const begin = first.add({ months: 1 }).subtract({ days: 3 }).toZonedDateTime(zone).epochMilliseconds
            const { booked, now } = await play(store, steps, zone, begin)
            await checkInvoices(store.history, booked, zone, now)
          } finally {
            await store.close()
          }
        },
      ),
      { numRuns: runs(60) },
    )
  }, 120_000)
}

type Under = Awaited<ReturnType<OpenHistory>>

async function play(store: Under, steps: readonly Step[], zone: string, begin: number) {
  const books = bookWindow(zone)
  const booked: Booked[] = []
  const refundable: { refund: Omit<Refund, 'amount'>; entry: Booked }[] = []
  let limits = limitsOf(WINDOWS.slice(1, 3), true, books)
  let [now, sequence] = [begin, 0]
  const settle = (charges: Charge[], refunds: Refund[]) =>
    store.settle({ instance: 'invoice', sequence: ++sequence, charges, refunds }, now)
  for (const each of steps) {
    if (each.kind === 'pass') now += each.ms
    else if (each.kind === 'reload') limits = limitsOf(each.windows, each.limitsOrganisations, books)
    else if (each.kind === 'reset') await store.change({ kind: 'reset', user: each.user }, ++now)
    else if (each.kind === 'charge') {
      const { user, organisation, cost } = each
      const charge: Charge = { user, organisation, category: 'read', cost, limits }
      const [decision] = (await settle([charge], [])) as [Decision]
      const entry = { date: dateOf(now, zone), user, organisation, tokens: cost }
      booked.push(entry)
      refundable.push({ refund: { charge, decision }, entry })
    } else if (refundable.length > 0) {
      const [{ refund, entry }] = refundable.splice(each.which % refundable.length, 1) as [(typeof refundable)[0]]
      await settle([], [{ ...refund, amount: refund.charge.cost - each.to }])
      entry.tokens = each.to
    }
  }
  return { booked, now }
}

function limitsOf(windows: readonly Window[], limitsOrganisations: boolean, books: Window): Limits {
  const list = windows.map((window) => ({ window, limit: 10 ** 9 }))
  return { personal: list, organisation: limitsOrganisations ? list : null, global: null, books }
}

function dateOf(moment: number, zone: string): string {
  return Temporal.Instant.fromEpochMilliseconds(moment).toZonedDateTimeISO(zone).toPlainDate().toString()
}

/** Asked a month later, of each day and each month that had any. */
async function checkInvoices(store: HistoryStore, booked: readonly Booked[], zone: string, now: number): Promise<void> {
  const at = now + 30 * 24 * HOUR
  const days = [...new Set(booked.map(({ date }) => date))]
  const ranges = days.flatMap((date) => {
    const day = Temporal.PlainDate.from(date)
    const month = day.with({ day: 1 })
    return [
      { from: date, to: day.add({ days: 1 }).toString() },
      { from: month.toString(), to: month.add({ months: 1 }).toString() },
    ]
  })
  for (const { from, to } of ranges) {
    for (const by of ['user', 'organisation'] as const) {
      const found = await tokensOf(store, { by, from, to }, zone, at)
      const within = booked.filter(({ date }) => date >= from && date < to)
      expect([from, to, by, found]).toEqual([from, to, by, sums(within.map((entry) => [entry[by], entry.tokens]))])
    }
  }
}

async function tokensOf(store: HistoryStore, fields: UsageFields, zone: string, at: number) {
  const books = bookWindow(zone)
  const since = new Map([[countedName(books), 0]])
  const read = readUsageQuery(fields, { at, windows: WINDOWS, books, zone, kept: KEPT_FOR_EVER, since })
  if ('problems' in read) throw new Error(JSON.stringify(read.problems))
  expect(read.query.gaps).toEqual([])
  const found: [string, number][] = []
  const seen = { reachesOver: false }
  const source = { ...store, readSeries: never, readMemberships: never }
  const { signal } = new AbortController()
  for await (const rows of readUsage(source, { query: read.query, limit: 100, signal }, seen)) {
    found.push(...rows.map((row): [string, number] => [row.name, row.tokens]))
  }
  expect(seen.reachesOver).toBe(false)
  return sums(found)
}

function never(): never {
  throw new Error('nobody asks for this')
}

function sums(entries: readonly (readonly [string | null, number])[]): Record<string, number> {
  const all = new Map<string, number>()
  for (const [name, tokens] of entries) if (name !== null && tokens > 0) all.set(name, (all.get(name) ?? 0) + tokens)
  return Object.fromEntries([...all].sort())
}
