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
import { attempt, type SqliteFile } from './database.ts'
import { endingRows } from './endings.ts'
import { named, nameOf, type Row } from './rows.ts'

export function sqliteAlerts(file: SqliteFile, lists: Records, clock: () => number): AlertStore {
  const rows = endingRows(file)
  const records = lists.list({
    kind: 'alert_event',
    list: 'alert_events',
    parse: recordOf,
    look: (id) => file.first('SELECT * FROM alert_events WHERE id = ?', id),
  })

  function raiseOne({ id, claim, happening, target }: NewEvent, now: number): Raised {
    const { place, run, threshold, endsAt } = claim
    const known = claimIn(rows.find('claim', place), now)
    // A run in the future began while the clock was ahead.
    const isLater = known !== null && known.run > run && known.run <= now
    if (isLater || (known?.run === run && known.threshold >= threshold)) return 'known'
    if (pendingOf(file, happening.alert) >= MOST_PENDING) return 'full'
    rows.put('claim', place, `${run} ${threshold}`, Math.max(endsAt, now) + CLAIM_MARGIN_MS)
    const { alert } = happening
    file.put('alert_events', {
      ...{ id, alert, happening: JSON.stringify(happening), state: 'pending', raised: now, attempts: 0, due: now },
    })
    file.put('alert_targets', { alert, target })
    return 'stored'
  }

  function takeNow(wanted: readonly Wanted[], leaseMs: number): TakenEvent[] {
    const now = clock()
    return wanted.flatMap((one) =>
      dueNow(file, one, now).flatMap((row) => {
        const event = records.read(nameOf(row.id), row)
        if (event === null) {
          // The event is no longer due, so that it does not block those behind it.
          file.run('UPDATE alert_events SET due = NULL WHERE id = ?', row.id ?? null)
          return []
        }
        const { id, happening, attempts, raisedAt } = event
        file.run('UPDATE alert_events SET attempts = attempts + 1, due = ? WHERE id = ?', now + leaseMs, id)
        return [{ id, alert: one.alert, happening, attempt: attempts + 1, raisedAt, takenAt: now }]
      }),
    )
  }

  function finishNow({ id, alert, attempt }: Pick<TakenEvent, 'id' | 'alert' | 'attempt'>, outcome: Outcome): void {
    const now = clock()
    const error = outcome.state === 'delivered' ? null : outcome.error
    const isPending = outcome.state === 'pending'
    file.run(
      `UPDATE alert_events SET state = ?, due = ?, done = ?, error = coalesce(?, error)
       WHERE id = ? AND attempts = ? AND state = 'pending'`,
      ...[outcome.state, isPending ? now + outcome.inMs : null, isPending ? null : now, error, id, attempt],
    )
    if (!isPending) forgetDone(file, alert)
  }

  function giveUpNow(alert: string, ageMs: number, error: string): number {
    const now = clock()
    const count = file.run(
      `UPDATE alert_events SET state = 'given_up', due = NULL, done = ?, error = ?
       WHERE alert = ? AND due IS NOT NULL AND raised <= ?`,
      ...[now, error, alert, now - ageMs],
    )
    if (count > 0) forgetDone(file, alert)
    if (pendingOf(file, alert) === 0) file.run('DELETE FROM alert_targets WHERE alert = ?', alert)
    return count
  }

  function readOne(alert: string, most: number): AlertEvents {
    const rows = file.all('SELECT * FROM alert_events WHERE alert = ? ORDER BY raised DESC LIMIT ?', alert, most)
    return { alert, pending: pendingOf(file, alert), events: records.readAll(named(rows, 'id')) }
  }

  return {
    raiseAlerts: (events) =>
      file.write(() => {
        const now = clock()
        return events.map((event) => raiseOne(event, now))
      }),
    async takeAlerts(wanted, leaseMs) {
      // Mostly nothing is due. So this looks first without a transaction, which would keep other processes from writing.
      const isDue = await attempt(() =>
        wanted.some(({ alert }) => dueNow(file, { alert, most: 1 }, clock()).length > 0),
      )
      return isDue ? file.write(() => takeNow(wanted, leaseMs)) : []
    },
    finishAlert: (event, outcome) => file.write(() => finishNow(event, outcome)),
    readAlerts: (alerts, most) => file.read(() => alerts.map((alert) => readOne(alert, most))),
    listAlerts: () =>
      file.read(() =>
        file
          .all<Omit<KnownAlert, 'pending'>>('SELECT alert, target FROM alert_targets')
          .map((known) => ({ ...known, pending: pendingOf(file, known.alert) })),
      ),
    giveUpAlerts: (alert, ageMs, error) => file.write(() => giveUpNow(alert, ageMs, error)),
  }
}

function pendingOf(file: SqliteFile, alert: string): number {
  const count = 'SELECT count(*) AS pending FROM alert_events WHERE alert = ? AND due IS NOT NULL'
  return (file.first(count, alert) as { pending: number }).pending
}

function dueNow(file: SqliteFile, { alert, most }: Wanted, now: number): Row[] {
  return file.all('SELECT * FROM alert_events WHERE alert = ? AND due <= ? ORDER BY due LIMIT ?', alert, now, most)
}

function forgetDone(file: SqliteFile, alert: string): void {
  file.run(
    `DELETE FROM alert_events WHERE id IN
       (SELECT id FROM alert_events WHERE alert = ? AND due IS NULL ORDER BY done DESC LIMIT -1 OFFSET ?)`,
    ...[alert, MOST_DONE],
  )
}

/** `null` for a claim that has expired, or is not there. */
function claimIn(row: ReturnType<ReturnType<typeof endingRows>['find']>, now: number) {
  if (row === undefined || !(row.ends > now)) return null
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
