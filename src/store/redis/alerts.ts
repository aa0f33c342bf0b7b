import type { Happening } from '../../alerts/alert.ts'
import {
  type AlertEvents,
  type AlertRecord,
  type AlertStore,
  CLAIM_MARGIN_MS,
  KEEP_EVENTS_MS,
  MOST_DONE,
  MOST_PENDING,
  type Raised,
} from '../../alerts/alert-store.ts'
import { call, reading } from './calls.ts'
import type { RedisClient } from './client.ts'
import type { Keys } from './keys.ts'

/** A key for each claim, which ends by itself, and four for each alert. */
export function redisAlerts(redis: RedisClient, keys: Keys): AlertStore {
  async function readOne(alert: string, most: number): Promise<AlertEvents> {
    const due = keys.alertDue(alert)
    const [ids, pending] = await reading<[string[], number]>(redis, (commands) => {
      commands.zrange(keys.alertAll(alert), '+inf', '-inf', 'BYSCORE', 'REV', 'LIMIT', 0, String(most)).zcard(due)
    })
    if (ids.length === 0) return { alert, pending, events: [] }
    const [values, ...scores] = await reading<[(string | null)[], ...(string | null)[]]>(redis, (commands) => {
      commands.hmget(keys.alertEvents(alert), ...ids.flatMap((id) => [`h:${id}`, `s:${id}`]))
      for (const id of ids) commands.zscore(due, id)
    })
    const records = ids.flatMap((id, i) => recordOf(id, values.slice(2 * i, 2 * i + 2), scores[i]))
    return { alert, pending, events: records }
  }

  return {
    async raiseAlerts(events) {
      if (events.length === 0) return []
      const names = events.flatMap(({ claim, happening: { alert } }) => [
        keys.claim(claim.place),
        keys.alertDue(alert),
        keys.alertAll(alert),
        keys.alertEvents(alert),
      ])
      const args = events.flatMap(({ claim: { run, threshold, endsAt }, id, happening }) => [
        ...[run, threshold, endsAt].map(String),
        id,
        JSON.stringify(happening),
      ])
      const bounds = [MOST_PENDING, CLAIM_MARGIN_MS, KEEP_EVENTS_MS].map(String)
      const letters = await call(() => redis.raiseAlerts(names.length, ...names, ...bounds, ...args))
      return events.map((_, i) => RAISED[letters[i] as keyof typeof RAISED])
    },

    async takeAlerts(wanted, leaseMs) {
      const names = wanted.flatMap(({ alert }) => [keys.alertDue(alert), keys.alertEvents(alert)])
      if (names.length === 0) return []
      const most = wanted.map((one) => String(one.most))
      const [now, ...flat] = await call(() => redis.takeAlerts(names.length, ...names, String(leaseMs), ...most))
      return chunks(flat).map(([position = '', id = '', happening = '', text = '']) => {
        const state = JSON.parse(text) as State
        return {
          id,
          alert: wanted[Number(position) - 1]?.alert ?? '',
          happening: JSON.parse(happening) as Happening,
          attempt: state.attempts,
          raisedAt: state.raised,
          takenAt: Number(now),
        }
      })
    },

    async finishAlert({ id, alert, attempt }, outcome) {
      const names = [keys.alertDue(alert), keys.alertAll(alert), keys.alertDone(alert), keys.alertEvents(alert)]
      const inMs = outcome.state === 'pending' ? outcome.inMs : 0
      const error = outcome.state === 'delivered' ? '' : (outcome.error ?? '')
      const args = [id, attempt, outcome.state, inMs, error, MOST_DONE, KEEP_EVENTS_MS].map(String)
      await call(() => redis.finishAlert(...names, ...args))
    },

    readAlerts: (alerts, most) => Promise.all(alerts.map((alert) => readOne(alert, most))),
  }
}

const RAISED = { '0': 'known', '1': 'stored', '2': 'full' } as const satisfies Record<string, Raised>

/** As the scripts keep it. */
interface State {
  readonly state: AlertRecord['state']
  readonly raised: number
  readonly attempts: number
  readonly done?: number
  readonly error?: string
}

/** Four texts for each event. */
function chunks(flat: readonly string[]): (readonly string[])[] {
  return Array.from({ length: flat.length / 4 }, (_, i) => flat.slice(4 * i, 4 * i + 4))
}

/** None for an event that was forgotten meanwhile. */
function recordOf(id: string, [happening, text]: readonly (string | null)[], due: string | null | undefined) {
  if (happening == null || text == null) return []
  const { state, raised, attempts, done, error } = JSON.parse(text) as State
  const record: AlertRecord = {
    id,
    happening: JSON.parse(happening) as Happening,
    state,
    raisedAt: raised,
    attempts,
    dueAt: due == null ? null : Number(due),
    doneAt: done ?? null,
    lastError: error ?? null,
  }
  return [record]
}
