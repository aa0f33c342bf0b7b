import type { Happening } from '../../alerts/alert.ts'
import type { AlertScope } from '../../alerts/alert-kinds.ts'
import {
  type AlertEvents,
  type AlertRecord,
  type AlertStore,
  CLAIM_MARGIN_MS,
  KEEP_EVENTS_MS,
  MOST_DONE,
  MOST_PENDING,
  type Raised,
  type Wanted,
} from '../../alerts/alert-store.ts'
import { isNumber, isText, isTime, oneOf, optional, shapeOf } from '../../lib/shape.ts'
import { happeningOf } from '../record-forms.ts'
import type { Records } from '../records.ts'
import { call, reading, run, UNREADABLE } from './calls.ts'
import type { RedisClient } from './client.ts'
import { keyThatHolds } from './key-that-holds.ts'
import type { Keys } from './keys.ts'

/** A key for each claim, which expires by itself, four keys for each alert, and one key for the targets of all alerts. */
export function redisAlerts(redis: RedisClient, keys: Keys, lists: Records): AlertStore {
  const kept = keptAlerts(redis, keys, lists)
  const { records, due } = kept
  const keysOf = (alert: string): string[] =>
    [keys.alertDue, keys.alertAll, keys.alertDone, keys.alertEvents].map((key) => key(alert))

  return {
    async raiseAlerts(events) {
      if (events.length === 0) return []
      const names = events.flatMap(({ claim, happening: { alert } }) => [
        ...[keys.claim(claim.place), keys.alertDue(alert), keys.alertAll(alert), keys.alertEvents(alert)],
      ])
      const args = events.flatMap(({ claim, id, happening, target }) => [
        ...[claim.run, claim.threshold, claim.endsAt, id, JSON.stringify(happening), happening.alert, target],
      ])
      names.push(keys.alertTargets)
      const bounds = [MOST_PENDING, CLAIM_MARGIN_MS, KEEP_EVENTS_MS]
      const letters = await run<string>(redis, 'raiseAlerts', names, [...bounds, ...args])
      return events.map((_, i) => RAISED[letters[i] as keyof typeof RAISED])
    },

    async takeAlerts(wanted, leaseMs) {
      const names = wanted.flatMap(({ alert }) => [keys.alertDue(alert), keys.alertEvents(alert)])
      if (names.length === 0) return []
      const args = [leaseMs, ...wanted.map(({ most }) => most)]
      const [now, ...flat] = await run<string[]>(redis, 'takeAlerts', names, args)
      return chunks(flat).flatMap(([position = '', id = '', happening = '', text = '']) => {
        const { alert } = wanted[Number(position) - 1] as Wanted
        if (id === '' && happening === 'due') return due.lost(alert, [])
        const event = records.read(`${alert} ${id}`, { happening, state: text })
        if (event === null) return []
        const { attempts, raised } = event.state
        return [{ id, alert, happening: event.happening, attempt: attempts, raisedAt: raised, takenAt: Number(now) }]
      })
    },

    async finishAlert({ id, alert, attempt }, outcome) {
      const inMs = outcome.state === 'pending' ? outcome.inMs : 0
      const error = outcome.state === 'delivered' ? '' : (outcome.error ?? '')
      const args = [id, attempt, outcome.state, inMs, error, MOST_DONE, KEEP_EVENTS_MS]
      await run(redis, 'finishAlert', keysOf(alert), args)
    },

    readAlerts: (alerts, most) => Promise.all(alerts.map((alert) => readAlert(redis, keys, kept, alert, most))),

    async listAlerts() {
      const byName = await call<Record<string, string>>(
        () => redis.hgetall(keys.alertTargets),
        () => kept.targets.lost('', {}),
      )
      const targets = Object.entries(byName)
      if (targets.length === 0) return []
      const pending = await reading<number[]>(
        redis,
        (commands) => {
          for (const [alert] of targets) commands.zcard(keys.alertDue(alert))
        },
        (place) => due.lost(targets[place]?.[0] ?? '', 0),
      )
      return targets.map(([alert, target], i) => ({ alert, target, pending: pending[i] ?? 0 }))
    },

    async giveUpAlerts(alert, ageMs, error) {
      const args = [alert, ageMs, error, MOST_DONE, KEEP_EVENTS_MS]
      return run(redis, 'giveUpAlerts', [...keysOf(alert), keys.alertTargets], args)
    },
  }
}

/** The events of alerts as records, and the keys that lead to them, each with a report for when it cannot be read. */
function keptAlerts(redis: RedisClient, keys: Keys, lists: Records) {
  const records = lists.list<Texts, Event>({
    kind: 'alert_event',
    list: keys.alertEvents(''),
    parse: eventOf,
    async look(place) {
      const { alert, id } = placeIn(place)
      const [happening, state] = await call(
        () => redis.hmget(keys.alertEvents(alert), `h:${id}`, `s:${id}`),
        () => [UNREADABLE, UNREADABLE],
      )
      return happening == null || state == null ? null : { happening, state }
    },
  })

  const due = keyThatHolds(lists, 'alert_event', keys.alertDue(''), (alert) => redis.zcard(keys.alertDue(alert)))
  const targets = keyThatHolds(lists, 'alert_event', keys.alertTargets, () => redis.hlen(keys.alertTargets))
  const all = keyThatHolds(lists, 'alert_event', keys.alertAll(''), (alert) => redis.zcard(keys.alertAll(alert)))
  return { records, due, targets, all }
}

async function readAlert(
  redis: RedisClient,
  keys: Keys,
  { records, due, all }: ReturnType<typeof keptAlerts>,
  alert: string,
  most: number,
): Promise<AlertEvents> {
  const [ids, pending] = await reading<[string[], number]>(
    redis,
    (commands) =>
      commands
        .zrange(keys.alertAll(alert), '+inf', '-inf', 'BYSCORE', 'REV', 'LIMIT', 0, String(most))
        .zcard(keys.alertDue(alert)),
    (place) => (place === 0 ? all.lost(alert, []) : due.lost(alert, 0)),
  )
  if (ids.length === 0) return { alert, pending, events: [] }
  const [values, ...scores] = await reading<[(string | null)[], ...(string | null)[]]>(
    redis,
    (commands) => {
      commands.hmget(keys.alertEvents(alert), ...ids.flatMap((id) => [`h:${id}`, `s:${id}`]))
      for (const id of ids) commands.zscore(keys.alertDue(alert), id)
    },
    (place) => {
      if (place > 0) return null
      records.read(`${alert} `, { happening: UNREADABLE, state: UNREADABLE })
      return []
    },
  )
  const events = ids.flatMap((id, i) => {
    const [happening, state] = values.slice(2 * i, 2 * i + 2)
    // The event was forgotten meanwhile.
    if (happening == null || state == null) return []
    const event = records.read(`${alert} ${id}`, { happening, state })
    return event === null ? [] : [recordOf(id, event, scores[i])]
  })
  return { alert, pending, events }
}

const RAISED = { '0': 'known', '1': 'stored', '2': 'full' } as const satisfies Record<string, Raised>

/** The state of an event as the scripts keep it. */
interface State {
  readonly state: AlertRecord['state']
  readonly raised: number
  readonly attempts: number
  readonly done?: number
  readonly error?: string
}

/** Splits a reply into four texts for each event. */
function chunks(flat: readonly string[]): (readonly string[])[] {
  return Array.from({ length: flat.length / 4 }, (_, i) => flat.slice(4 * i, 4 * i + 4))
}

/** Both are JSON. */
interface Texts {
  readonly happening: string
  readonly state: string
}

interface Event {
  readonly happening: Happening<AlertScope>
  readonly state: State
}

function eventOf({ happening, state }: Texts): Event | null {
  const event = { happening: happeningOf(happening), state: JSON.parse(state) as State }
  return event.happening !== null && isState(event.state) ? { ...event, happening: event.happening } : null
}

const isState = shapeOf({
  state: oneOf(['pending', 'delivered', 'given_up']),
  raised: isTime,
  attempts: isNumber,
  done: optional(isTime),
  error: optional(isText),
})

/** Splits an alert and an id. The blank between them occurs in neither. */
function placeIn(place: string): { readonly alert: string; readonly id: string } {
  const blank = place.indexOf(' ')
  return { alert: place.slice(0, blank), id: place.slice(blank + 1) }
}

function recordOf(id: string, { happening, state }: Event, due: string | null | undefined): AlertRecord {
  return {
    id,
    happening,
    state: state.state,
    raisedAt: state.raised,
    attempts: state.attempts,
    dueAt: due == null ? null : Number(due),
    doneAt: state.done ?? null,
    lastError: state.error ?? null,
  }
}
