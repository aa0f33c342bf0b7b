import { type Cache, createCache } from '../../lib/second-chance-cache.ts'
import type { Charge, Decision, Limits } from '../../quota/charge.ts'
import { EVERYBODY, type ScopeName } from '../../quota/charged-scopes.ts'
import { beginOf, type Limit, promised, resetAt, type Usage } from '../../quota/window.ts'
import { type Alert, leastOf } from '../alert.ts'
import type { AlertKind, WatcherTools } from '../alert-kind.ts'
import { createSecondLooks, type Noted } from './second-looks.ts'

/** Alerts for a share of the limit of a window that is used. */
export const WINDOWS = {
  scopes: {
    global: { watches: 'the window of all users together', subject: null },
    organisation: { watches: 'the window of each organisation', subject: 'organisation' },
    personal: { watches: 'the window of each user', subject: 'user' },
  },
  hasWindow: true,
  keys: {},
  event: { type: 'quota.threshold', amounts: { used: 'used', limit: 'limit' }, end: 'resetAt' },
  counts: null,
  /** Reads the windows in the reply to each charge, and once more from the store if its cost is raised. */
  watcher({ store, observe, raise, pause }) {
    let watch: Watch | null = null
    const looks = createSecondLooks({
      store,
      pause,
      note: (outcome) => watch?.note(outcome),
      onError: (error) => observe({ type: 'internal_error', where: 'alerts', error }),
    })
    return {
      configure(alerts) {
        watch = alerts.length === 0 ? null : createWatch({ alerts: alerts.map(ofWindow), raise })
      },
      observer(seen) {
        if (seen.type !== 'settled' || watch === null) return
        if (seen.kind !== 'corrected') watch.note(seen)
        else if (seen.tokens > 0 && watch.isWatched(seen.charge)) looks.add(seen)
      },
      close: looks.close,
    }
  },
} as const satisfies AlertKind

export interface WindowAlert extends Alert {
  /** `personal`: each user alone is watched; `organisation`: each organisation; `global`: all users together. */
  readonly scope: ScopeName
  readonly category: string
  readonly window: string
}

/** An alert about a window. The check of the configuration has ensured that it names a scope, a category and a window. */
function ofWindow({ name, scope, category, window, at }: Alert): WindowAlert {
  return { name, scope: scope as ScopeName, category: category ?? '', window: window ?? '', at }
}

/**
 * Notices that a window has reached a threshold. It uses the usage in the reply to each charge and asks nobody. While no
 * threshold is reached it costs one comparison for each alert of the category.
 */
export interface Watch {
  /** A personal window causes no alert unless it is known who the user is. */
  note(outcome: Noted): void
  /** Whether an alert is about a window of the charge. */
  isWatched(charge: Charge): boolean
}

export interface WatchOptions {
  readonly alerts: readonly WindowAlert[]
  readonly raise: WatcherTools['raise']
}

/** For how many users or organisations each alert remembers that they reached a threshold. Each takes about 200 bytes. */
const MOST_SEEN = 20_000
/** How long an alert notices nothing after there was no room for one of its happenings, in milliseconds. */
const FULL_MS = 30_000

/** An alert, and the thresholds that it has noticed. */
interface Watched {
  readonly alert: WindowAlert
  /** The highest thresholds, by user or organisation. */
  readonly seen: Cache<Seen>
  /** A time of the store's clock. */
  fullUntil: number
}

/** The position of the highest threshold that was reached in a run. */
interface Seen {
  readonly run: number
  readonly step: number
}

/** An alert together with the limit of a charge that it watches. */
interface Meeting {
  readonly watched: Watched
  /** The position among the limits of the scope. */
  readonly position: number
  readonly limit: Limit
  /** The limit that known users are promised. */
  readonly full: number
  /** The fewest used tokens that reach each threshold. */
  readonly least: readonly number[]
}

const NOTHING: readonly Meeting[] = []

export function createWatch({ alerts, raise }: WatchOptions): Watch {
  const watched = alerts.map((alert): Watched => ({ alert, seen: createCache(MOST_SEEN), fullUntil: 0 }))
  const byCategory = new Map(
    [...Map.groupBy(watched, ({ alert }) => alert.category)].map(([category, all]) => [
      category,
      { all, known: new WeakMap<Limits, readonly Meeting[]>() },
    ]),
  )

  /** Remembers the meetings for each set of limits, which is made once for each change of settings. */
  function meetingsOf({ category, limits }: Charge): readonly Meeting[] {
    const ofCategory = byCategory.get(category)
    if (ofCategory === undefined) return NOTHING
    let meetings = ofCategory.known.get(limits)
    if (meetings === undefined) {
      meetings = ofCategory.all.flatMap((each) => meetingOf(each, limits))
      ofCategory.known.set(limits, meetings)
    }
    return meetings
  }

  function reached(meeting: Meeting, step: number, usage: Usage, charge: Charge, at: number): void {
    const { watched, limit, full } = meeting
    const { alert, seen } = watched
    const subject = subjectOf(alert.scope, charge)
    const before = seen.get(subject, at)
    if (before !== undefined && before.run === usage.startedAt && before.step >= step) return
    if (at < watched.fullUntil) return
    const endsAt = resetAt(usage, limit.window)
    seen.set(subject, { run: usage.startedAt, step }, endsAt, at)
    const { name, scope, category, window } = alert
    const threshold = alert.at[step] as number
    const startedAt = beginOf(limit.window, usage.startedAt)
    const whose = scope === 'global' ? null : subject
    raise(
      {
        claim: { place: placeOf(alert, limit.window.seconds, subject), run: usage.startedAt, threshold, endsAt },
        happening: {
          ...{ alert: name, scope, subject: whose, category, window },
          ...{ threshold, used: usage.used, limit: full, at, startedAt, endsAt },
        },
      },
      () => {
        watched.fullUntil = at + FULL_MS
        if (seen.get(subject, at)?.step === step) seen.set(subject, before ?? NEVER, endsAt, at)
      },
    )
  }

  return {
    isWatched: (charge) => meetingsOf(charge).length > 0,
    note({ kind, charge, decision, isVerified }) {
      // A decision without the store counts one process alone. A correction has the windows from before it (second-looks.ts).
      if (decision === null || decision.limits !== undefined || kind === 'corrected' || kind === 'given_back') return
      for (const meeting of meetingsOf(charge)) {
        const { scope } = meeting.watched.alert
        const usage = decision[scope]?.[meeting.position]
        if (usage === undefined || usage.used === 0) continue
        const level = levelOf(meeting, usage, charge, decision)
        if (level < (meeting.least[0] as number) || (scope === 'personal' && !isVerified)) continue
        const step = meeting.least.findLastIndex((least) => level >= least)
        reached(meeting, step, usage, charge, decision.at)
      }
    },
  }
}

const NEVER: Seen = Object.freeze({ run: 0, step: -1 })

/** At most one: an alert has one window. */
function meetingOf(watched: Watched, limits: Limits): Meeting[] {
  const { scope, window, at } = watched.alert
  const position = limits[scope]?.findIndex((limit) => limit.window.name === window) ?? -1
  const limit = limits[scope]?.[position]
  if (limit === undefined) return []
  const full = promised(limit) + (limit.kept ?? 0)
  return [{ watched, position, limit, full, least: at.map((share) => leastOf(share, full)) }]
}

/** A window that refuses has no room, so all of its limit counts as used, whatever is left. */
function levelOf({ full, limit }: Meeting, { used }: Usage, { cost }: Charge, { accepted }: Decision): number {
  return accepted || used + cost <= full + (limit.over ?? 0) ? used : Math.max(used, full)
}

/** The subject comes last because it may hold any characters. Names hold no colon. */
function placeOf({ name, scope, category }: WindowAlert, seconds: number, subject: string): string {
  return `${name}:${scope}:${category}:${seconds}:${subject}`
}

/** The user that a place is about; `null` for a place of another scope. */
export function userOfPlace(place: string): string | null {
  return /^[^:]*:personal:[^:]*:\d+:(.*)$/su.exec(place)?.[1] ?? null
}

function subjectOf(scope: ScopeName, { user, organisation }: Charge): string {
  if (scope === 'personal') return user
  return scope === 'organisation' ? (organisation ?? '') : EVERYBODY
}
