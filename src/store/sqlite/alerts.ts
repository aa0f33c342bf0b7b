import type { DatabaseSync } from 'node:sqlite'
import {
  type AlertEvents,
  type AlertRecord,
  type AlertStore,
  CLAIM_MARGIN_MS,
  type KnownAlert,
  MOST_DONE,
  MOST_PENDING,
  type NewEvent,
  type Outcome,
  type Raised,
  type TakenEvent,
  type Wanted,
} from '../../alerts/alert-store.ts'
import { isNumber, isText, isTime, oneOf, orNull, shapeOf } from '../../lib/shape.ts'
import { happeningOf } from '../record-forms.ts'
import type { Records } from '../records.ts'
import { attempt, transactions } from './database.ts'
import { endingRows } from './endings.ts'
import { nameOf, type Row, rowsOf } from './rows.ts'

export function sqliteAlerts(database: DatabaseSync, lists: Records, clock: () => number): AlertStore {
  const { writing, reading } = transactions(database)
  const sql = prepare(database)
  const rows = endingRows(database)
  const records = lists.list({
    kind: 'alert_event',
    list: 'alert_events',
    parse: recordOf,
    look: (id) => sql.one.first(id),
  })

  function pendingOf(alert: string): number {
    return (sql.pending.get(alert) as { pending: number }).pending
  }

  function raiseOne({ id, claim, happening, target }: NewEvent, now: number): Raised {
    const { place, run, threshold, endsAt } = claim
    const known = claimIn(rows.find('claim', place), now)
    // A run in the future began while the clock was ahead.
    const isLater = known !== null && known.run > run && known.run <= now
    if (isLater || (known?.run === run && known.threshold >= threshold)) return 'known'
    if (pendingOf(happening.alert) >= MOST_PENDING) return 'full'
    rows.put('claim', place, `${run} ${threshold}`, Math.max(endsAt, now) + CLAIM_MARGIN_MS)
    sql.add.run(id, happening.alert, JSON.stringify(happening), now, now)
    sql.setTarget.run(happening.alert, target)
    return 'stored'
  }

  function raiseNow(events: readonly NewEvent[]): Raised[] {
    const now = clock()
    return events.map((event) => raiseOne(event, now))
  }

  function takeNow(wanted: readonly Wanted[], leaseMs: number): TakenEvent[] {
    const now = clock()
    return wanted.flatMap(({ alert, most }) =>
      sql.due.all(alert, now, most).flatMap((row) => {
        const event = records.read(nameOf(row.id), row)
        if (event === null) {
          // The event is no longer due, so that it does not block those behind it.
          sql.giveUp.run(row.id ?? null)
          return []
        }
        const { id, happening, attempts, raisedAt } = event
        sql.lease.run(now + leaseMs, id)
        return [{ id, alert, happening, attempt: attempts + 1, raisedAt, takenAt: now }]
      }),
    )
  }

  function finishNow({ id, alert, attempt }: Pick<TakenEvent, 'id' | 'alert' | 'attempt'>, outcome: Outcome): void {
    const now = clock()
    const error = outcome.state === 'delivered' ? null : outcome.error
    const isPending = outcome.state === 'pending'
    sql.finish.run(outcome.state, isPending ? now + outcome.inMs : null, isPending ? null : now, error, id, attempt)
    if (!isPending) sql.forgetDone.run(alert, MOST_DONE)
  }

  function giveUpNow(alert: string, ageMs: number, error: string): number {
    const now = clock()
    const { changes } = sql.giveUpOld.run(now, error, alert, now - ageMs)
    if (changes > 0) sql.forgetDone.run(alert, MOST_DONE)
    if (pendingOf(alert) === 0) sql.dropTarget.run(alert)
    return Number(changes)
  }

  function readOne(alert: string, most: number): AlertEvents {
    const events = records.readAll(sql.list.all(alert, most).map((row) => [nameOf(row.id), row]))
    return { alert, pending: pendingOf(alert), events }
  }

  return {
    raiseAlerts: (events) => attempt(() => writing(() => raiseNow(events))),
    async takeAlerts(wanted, leaseMs) {
      // Mostly nothing is due. This question keeps nobody from writing.
      const isDue = await attempt(() => wanted.some(({ alert }) => sql.due.first(alert, clock(), 1) !== undefined))
      return isDue ? attempt(() => writing(() => takeNow(wanted, leaseMs))) : []
    },
    finishAlert: (event, outcome) => attempt(() => writing(() => finishNow(event, outcome))),
    readAlerts: (alerts, most) => attempt(() => reading(() => alerts.map((alert) => readOne(alert, most)))),
    listAlerts: () => attempt(() => sql.targets.all() as unknown as readonly KnownAlert[]),
    giveUpAlerts: (alert, ageMs, error) => attempt(() => writing(() => giveUpNow(alert, ageMs, error))),
  }
}

function prepare(database: DatabaseSync) {
  return {
    pending: database.prepare('SELECT count(*) AS pending FROM alert_events WHERE alert = ? AND due IS NOT NULL'),
    add: database.prepare(
      `INSERT INTO alert_events (id, alert, happening, state, raised, attempts, due) VALUES (?, ?, ?, 'pending', ?, 0, ?)`,
    ),
    one: rowsOf(database, 'SELECT * FROM alert_events WHERE id = ?'),
    due: rowsOf(database, 'SELECT * FROM alert_events WHERE alert = ? AND due <= ? ORDER BY due LIMIT ?'),
    giveUp: database.prepare('UPDATE alert_events SET due = NULL WHERE id = ?'),
    lease: database.prepare('UPDATE alert_events SET attempts = attempts + 1, due = ? WHERE id = ?'),
    finish: database.prepare(
      `UPDATE alert_events SET state = ?, due = ?, done = ?, error = coalesce(?, error)
       WHERE id = ? AND attempts = ? AND state = 'pending'`,
    ),
    forgetDone: database.prepare(
      `DELETE FROM alert_events WHERE id IN
         (SELECT id FROM alert_events WHERE alert = ? AND due IS NULL ORDER BY done DESC LIMIT -1 OFFSET ?)`,
    ),
    setTarget: database.prepare('INSERT OR REPLACE INTO alert_targets (alert, target) VALUES (?, ?)'),
    dropTarget: database.prepare('DELETE FROM alert_targets WHERE alert = ?'),
    targets: database.prepare(
      `SELECT alert, target, (SELECT count(*) FROM alert_events e WHERE e.alert = t.alert AND due IS NOT NULL) AS pending
       FROM alert_targets t`,
    ),
    giveUpOld: database.prepare(
      `UPDATE alert_events SET state = 'given_up', due = NULL, done = ?, error = ?
       WHERE alert = ? AND due IS NOT NULL AND raised <= ?`,
    ),
    list: rowsOf(database, 'SELECT * FROM alert_events WHERE alert = ? ORDER BY raised DESC LIMIT ?'),
  }
}

/** `null` for a claim that has expired, or is not there. */
function claimIn(row: ReturnType<ReturnType<typeof endingRows>['find']>, now: number) {
  if (row === undefined || row.ends <= now) return null
  const [run = 0, threshold = 0] = row.text.split(' ').map(Number)
  return { run, threshold }
}

const isEvent = shapeOf({
  id: isText,
  state: oneOf(['pending', 'delivered', 'given_up']),
  raisedAt: isTime,
  attempts: isNumber,
  dueAt: orNull(isTime),
  doneAt: orNull(isTime),
  lastError: orNull(isText),
})

function recordOf({ id, happening, state, raised, attempts, due, done, error }: Row): AlertRecord | null {
  const event = {
    id,
    happening: happeningOf(String(happening)),
    state,
    raisedAt: raised,
    attempts,
    dueAt: due,
    doneAt: done,
    lastError: error,
  }
  return event.happening !== null && isEvent(event) ? (event as unknown as AlertRecord) : null
}
