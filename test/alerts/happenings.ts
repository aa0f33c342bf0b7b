import type { Happening as Worded } from '../../src/alerts/alert.ts'
import type { AlertScope } from '../../src/alerts/alert-kinds.ts'
import type { NewEvent } from '../../src/alerts/alert-store.ts'

type Happening = Worded<AlertScope>

/** A threshold that a user has reached in the read hour. */
export function reachedBy(subject: string, more: Partial<Happening> = {}): Happening {
  const startedAt = more.startedAt ?? Date.now()
  return {
    alert: 'near',
    scope: 'personal',
    subject,
    category: 'read',
    window: '1h',
    threshold: 0.8,
    used: 96,
    limit: 120,
    at: startedAt + 1000,
    startedAt,
    endsAt: startedAt + 3_600_000,
    ...more,
  }
}

let events = 0

export function eventOf(happening: Happening): NewEvent {
  const { alert, subject, startedAt, threshold, endsAt } = happening
  return {
    id: `event-${++events}`,
    claim: { place: `${alert}:personal:read:3600:${subject}`, run: startedAt, threshold, endsAt },
    happening,
    target: `target of ${alert}`,
  }
}
