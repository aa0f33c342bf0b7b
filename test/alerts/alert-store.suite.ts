import { afterEach, beforeEach, expect, it } from 'vitest'
import { type AlertStore, MOST_DONE, MOST_PENDING, MOST_RAISED, type NewEvent } from '../../src/alerts/alert-store.ts'
import { STRANGE_IDS } from '../quota/usage.suite.ts'
import { eventOf, reachedBy } from './happenings.ts'

export interface AlertStoreUnderTest {
  readonly store: AlertStore
  /** The same store, as another process has it. */
  readonly other: AlertStore
  /** The store's time, in milliseconds since the epoch. */
  now(): number
  /** Lets so many milliseconds pass for the events of the store. */
  pass(ms: number): Promise<void>
  close(): Promise<void>
}

const NEAR = [{ alert: 'near', most: 10 }]
const LEASE = 60_000

/** What every store must do that keeps the events of alerts. */
export function alertStoreSuite(open: () => Promise<AlertStoreUnderTest>): void {
  let under: AlertStoreUnderTest
  let start: number
  beforeEach(async () => {
    under = await open()
    start = under.now() - 5000
  })
  afterEach(() => under.close())

  const of = (user: string, threshold = 0.8, startedAt = start, alert = 'near') =>
    eventOf(reachedBy(user, { alert, threshold, startedAt }))
  const raise = async (...events: NewEvent[]) => under.store.raiseAlerts(events)
  const idsOf = (events: readonly { readonly id: string }[]) => events.map(({ id }) => id)

  it('claims keep a threshold of a run from being raised twice, by whichever process, at once or later', async () => {
    const twenty = Array.from({ length: 20 }, () => of('alice'))
    const raised = await Promise.all(
      twenty.map((event, i) => (i % 2 === 0 ? under.store : under.other).raiseAlerts([event])),
    )
    expect(raised.flat().filter((one) => one === 'stored')).toHaveLength(1)
    expect(await raise(of('alice'), of('alice'))).toEqual(['known', 'known'])
    const [events] = await under.other.readAlerts(['near'], 10)
    expect(events).toMatchObject({ alert: 'near', pending: 1 })
  })

  it('claims let a higher threshold of the run through, and no lower one', async () => {
    expect(await raise(of('alice', 0.8), of('alice', 1), of('alice', 0.9), of('alice', 1))).toEqual([
      'stored',
      'stored',
      'known',
      'known',
    ])
  })

  it('claims begin anew with a later run, and know nothing of an earlier one', async () => {
    expect(await raise(of('alice', 1, start), of('alice', 0.8, start + 1000), of('alice', 1, start))).toEqual([
      'stored',
      'stored',
      'known',
    ])
  })

  it('claims of a run that began while the clock was ahead end with the first one after it', async () => {
    expect(await raise(of('alice', 1, under.now() + 86_400_000), of('alice', 0.8, start))).toEqual(['stored', 'stored'])
  })

  it('claims keep subjects apart, whatever characters they hold', async () => {
    expect(new Set(await raise(...STRANGE_IDS.slice(0, MOST_RAISED).map((user) => of(user))))).toEqual(
      new Set(['stored']),
    )
    const [events] = await under.store.readAlerts(['near'], 100)
    const subjects = events?.events.map(({ happening }) => 'subject' in happening && happening.subject)
    expect(subjects?.sort()).toEqual(STRANGE_IDS.slice(0, MOST_RAISED).sort())
  })

  it('pending events are taken by one process at a time, and by another at the end of the lease', async () => {
    const event = of('alice')
    await raise(event)
    const [first, second] = await Promise.all([
      under.store.takeAlerts(NEAR, LEASE),
      under.other.takeAlerts(NEAR, LEASE),
    ])
    expect(idsOf([...first, ...second])).toEqual([event.id])
    expect([...first, ...second][0]).toMatchObject({ alert: 'near', happening: event.happening, attempt: 1 })
    expect(await under.other.takeAlerts(NEAR, LEASE)).toEqual([])
    await under.pass(LEASE)
    expect(await under.other.takeAlerts(NEAR, LEASE)).toMatchObject([{ id: event.id, attempt: 2 }])
  })

  it('pending events are those of the wanted alerts, no more of each than wanted, the longest due first', async () => {
    const mine = [of('a'), of('b'), of('c')]
    for (const event of mine) {
      await raise(event)
      await under.pass(5)
    }
    await raise(of('a', 0.8, start, 'far'), of('a', 0.8, start, 'else'))
    const taken = await under.store.takeAlerts(
      [
        { alert: 'near', most: 2 },
        { alert: 'far', most: 2 },
        { alert: 'none', most: 2 },
      ],
      LEASE,
    )
    expect(taken.map(({ alert }) => alert)).toEqual(['near', 'near', 'far'])
    expect(idsOf(taken).slice(0, 2)).toEqual(idsOf(mine).slice(0, 2))
    expect(await under.store.takeAlerts([], LEASE)).toEqual([])
  })

  it('pending events are due again after a pause, and not once they are delivered or given up', async () => {
    await raise(of('a'), of('b'), of('c'))
    const taken = await under.store.takeAlerts(NEAR, LEASE)
    const [a, b, c] = taken
    if (a === undefined || b === undefined || c === undefined) throw new Error('not taken')
    await under.store.finishAlert(a, { state: 'delivered' })
    await under.store.finishAlert(b, { state: 'given_up', error: 'gone' })
    await under.store.finishAlert(c, { state: 'pending', inMs: 2 * LEASE, error: 'status 500' })
    const [read] = await under.store.readAlerts(['near'], 10)
    expect(read?.pending).toBe(1)
    const states = Object.fromEntries(read?.events.map((event) => [event.id, event]) ?? [])
    expect(states[a.id]).toMatchObject({ state: 'delivered', attempts: 1, dueAt: null, lastError: null })
    expect(states[b.id]).toMatchObject({ state: 'given_up', dueAt: null, lastError: 'gone' })
    expect(states[c.id]).toMatchObject({ state: 'pending', doneAt: null, lastError: 'status 500' })
    expect(states[a.id]?.doneAt).toBeGreaterThanOrEqual(states[a.id]?.raisedAt ?? Number.POSITIVE_INFINITY)
    expect(states[c.id]?.dueAt).toBeGreaterThan(under.now())
    expect(await under.store.takeAlerts(NEAR, LEASE)).toEqual([])
    await under.pass(2 * LEASE)
    expect(await under.store.takeAlerts(NEAR, LEASE)).toMatchObject([{ id: c.id, attempt: 2 }])
    await under.store.finishAlert({ ...c, attempt: 2 }, { state: 'delivered' })
    const [after] = await under.store.readAlerts(['near'], 10)
    expect(after?.events.find(({ id }) => id === c.id)).toMatchObject({ state: 'delivered', lastError: 'status 500' })
  })

  it('pending events take no word of an attempt after which another was begun', async () => {
    await raise(of('alice'))
    const [first] = await under.store.takeAlerts(NEAR, LEASE)
    await under.pass(LEASE)
    const [second] = await under.other.takeAlerts(NEAR, LEASE)
    if (first === undefined || second === undefined) throw new Error('not taken')
    await under.store.finishAlert(first, { state: 'given_up', error: 'late' })
    expect((await under.store.readAlerts(['near'], 1))[0]?.pending).toBe(1)
    await under.other.finishAlert(second, { state: 'delivered' })
    await under.store.finishAlert(second, { state: 'pending', inMs: 0, error: 'late' })
    expect((await under.store.readAlerts(['near'], 1))[0]).toMatchObject({ pending: 0 })
  })

  it('alerts are listed with where their events go and how many are pending, whoever has them configured', async () => {
    expect(await under.store.listAlerts()).toEqual([])
    await raise(of('alice'), of('bob'), { ...of('alice', 0.8, start, 'far'), target: 'old' })
    await under.other.raiseAlerts([{ ...of('bob', 0.8, start, 'far'), target: 'new' }])
    const [taken] = await under.store.takeAlerts([{ alert: 'far', most: 1 }], LEASE)
    await under.store.finishAlert(taken ?? { id: '', alert: '', attempt: 0 }, { state: 'delivered' })
    expect((await under.other.listAlerts()).toSorted((a, b) => (a.alert < b.alert ? -1 : 1))).toEqual([
      { alert: 'far', target: 'new', pending: 1 },
      { alert: 'near', target: 'target of near', pending: 2 },
    ])
  })

  it('alerts of which old events are given up keep the younger ones, and are forgotten with the last one', async () => {
    const [old, young] = [of('alice'), of('bob')]
    await raise(old)
    await under.pass(LEASE)
    await raise(young)
    const [taken] = await under.store.takeAlerts([{ alert: 'near', most: 1 }], LEASE)
    expect(await under.other.giveUpAlerts('near', LEASE / 2, 'nobody has it')).toBe(1)
    const [read] = await under.store.readAlerts(['near'], 10)
    const states = Object.fromEntries(read?.events.map((event) => [event.id, event]) ?? [])
    expect(states[old.id]).toMatchObject({ state: 'given_up', dueAt: null, lastError: 'nobody has it' })
    expect(states[old.id]?.doneAt).toBeGreaterThan(states[old.id]?.raisedAt ?? Number.POSITIVE_INFINITY)
    expect(states[young.id]).toMatchObject({ state: 'pending', lastError: null })
    // An attempt that was under way comes too late.
    await under.store.finishAlert(taken ?? { id: '', alert: '', attempt: 0 }, {
      state: 'pending',
      inMs: 0,
      error: null,
    })
    expect(await under.store.listAlerts()).toMatchObject([{ alert: 'near', pending: 1 }])
    expect(await under.store.giveUpAlerts('near', 0, 'nobody has it')).toBe(1)
    expect(await under.store.listAlerts()).toEqual([])
    expect(await under.store.giveUpAlerts('near', 0, 'nobody has it')).toBe(0)
  })

  it('events that cannot be written are refused by an error that is none of the store, and none beside them is kept', async () => {
    const { happening, ...event } = of('alice')
    // JSON has no text for a number of this type.
    const without = { ...event, happening: { ...happening, used: 1n as unknown as number } }
    await expect(raise(of('bob'), without)).rejects.toBeInstanceOf(TypeError)
    expect(await raise(of('bob'))).toEqual(['stored'])
  })

  it('keeps so many pending events of one alert, others in their own room, and claims nothing without room', async () => {
    const raised: string[] = []
    for (let i = 0; i < MOST_PENDING + MOST_RAISED; i += MOST_RAISED) {
      raised.push(...(await raise(...Array.from({ length: MOST_RAISED }, (_, k) => of(`user ${i + k}`)))))
    }
    expect(raised.filter((one) => one === 'stored')).toHaveLength(MOST_PENDING)
    expect(raised.at(-1)).toBe('full')
    expect(await raise(of('alice'), of('alice', 0.8, start, 'far'))).toEqual(['full', 'stored'])
    const [taken] = await under.store.takeAlerts([{ alert: 'near', most: 1 }], LEASE)
    await under.store.finishAlert(taken ?? { id: '', alert: '', attempt: 0 }, { state: 'delivered' })
    expect(await raise(of('alice'))).toEqual(['stored'])
  })

  it('shows the newest events first, and keeps so many that are done', async () => {
    const all: string[] = []
    for (let done = 0; done < MOST_DONE + 5; ) {
      const some = Array.from({ length: 35 }, (_, k) => of(`user ${done + k}`))
      await raise(...some)
      all.push(...idsOf(some))
      const taken = await under.store.takeAlerts([{ alert: 'near', most: 100 }], 60_000)
      for (const event of taken) await under.store.finishAlert(event, { state: 'delivered' })
      done += taken.length
      await under.pass(5)
    }
    const [read] = await under.store.readAlerts(['near'], 1000)
    expect(read?.events).toHaveLength(MOST_DONE)
    expect(all.slice(-35)).toEqual(expect.arrayContaining(idsOf(read?.events.slice(0, 35) ?? [])))
    const two = await under.store.readAlerts(['far', 'near'], 2)
    expect(two.map(({ alert, events }) => [alert, events.length])).toEqual([
      ['far', 0],
      ['near', 2],
    ])
  })
}
