import type { AuditResponse, ScheduledResponse, SettingsResponse } from '../../admin/api.ts'
import { UNDO } from './audit-undone.ts'
import { type Difference, differences } from './diff.ts'
import { valueAt } from './settings.ts'

export type Entry = AuditResponse['entries'][number]
export type Kind = Entry['what']

/** In the order in which they are offered. */
export const KINDS = [
  'settings',
  'override',
  'organisation_override',
  'overrides',
  'reset',
  'quota_reset',
  'token_created',
  'token_revoked',
  'user_forgotten',
] as const satisfies readonly Kind[]

/** What an entry of the audit is about, so that it can be put into a sentence of any language. */
export interface Story {
  readonly sentence: Sentence
  /** Whoever had asked for what the schedule or the guard did. */
  readonly by?: string
  /** The number of the change that was undone. */
  readonly undone?: number
  /** ISO 8601. */
  readonly at?: string
  readonly counts?: Readonly<Record<string, number>>
  /** 0 to 1. */
  readonly share?: number
  /** The one value that was changed, if the sentence is about it. */
  readonly change?: Change
  /** The values that were changed, if the sentence is not about one. */
  readonly changes: readonly Change[]
  readonly notes: readonly Note[]
  /** The reason that was given, without what the sentence says already. */
  readonly why: string | null
}

export type Sentence =
  | `one.${OneChange}`
  | 'settings.many'
  | 'settings.none'
  | 'undo'
  | 'scheduled'
  | 'cancelled'
  | 'unguarded'
  | 'schedule.begin'
  | 'schedule.end'
  | 'schedule.not'
  | 'guard.back'
  | 'guard.counted'
  | 'guard.keeps'
  | 'override.set'
  | 'override.changed'
  | 'override.removed'
  | 'overrides'
  | 'reset'
  | 'quota_reset'
  | 'quota_reset_organisation'
  | 'token_created'
  | 'token_revoked'
  | 'user_forgotten'

export type OneChange = 'raised' | 'lowered' | 'changed' | 'on' | 'off' | 'set' | 'back'

/** `undefined` where the file, or the default, counts. */
export interface Change extends Difference {
  /** What holds where nothing is set: what the file has now, of an override the default. `undefined` if it is not known. */
  readonly file: unknown
}

/** What a change of the settings comes with. */
export type Note =
  | { readonly kind: 'until'; readonly at: string }
  | { readonly kind: 'guarded'; readonly at: string; readonly share: number }
  | { readonly kind: 'guardEnded' }

interface Pending {
  readonly guard?: { readonly until: string; readonly refused: number; readonly who: string }
  readonly scheduled?: readonly ScheduledResponse[]
}

/** @param file what the file says now; `null` if it is not known */
export function storyOf(entry: Entry, file: SettingsResponse | null): Story {
  switch (entry.what) {
    case 'settings':
      return storyOfSettings(entry, file)
    case 'override':
    case 'organisation_override':
      return storyOfOverride(entry)
    case 'overrides':
      return { ...plain('overrides', entry.why), counts: countsIn(entry.to) }
    case 'quota_reset': {
      const isOf = entry.subject?.startsWith('organisation:')
      const sentence = isOf ? 'quota_reset_organisation' : 'quota_reset'
      return { ...plain(sentence, entry.why), changes: leaves(undefined, entry.from, null) }
    }
    default:
      return plain(entry.what, entry.why)
  }
}

/** What the audit calls a user who was forgotten. */
const FORGOTTEN = /^forgotten-[0-9a-f]{12}$/

/** Whether POST /api/audit/ID/undo can put back what the entry replaced. */
export function isUndoable(entry: Entry): boolean {
  if (entry.what === 'settings') return leaves(withoutPending(entry.from), withoutPending(entry.to), null).length > 0
  if (entry.what === 'override') return !FORGOTTEN.test(entry.subject ?? '')
  return entry.what === 'organisation_override'
}

/** What an undo puts back: each value as it is after the change, and as it was before. */
export function comesBack(entry: Entry, file: SettingsResponse | null): readonly Change[] {
  return entry.what === 'settings'
    ? leaves(withoutPending(entry.to), withoutPending(entry.from), file)
    : overrideChanges(entry.to, entry.from)
}

/** The category, and the organisation, whose windows a `quota_reset` has emptied. */
export function emptiedIn({ subject }: Entry): { readonly category: string; readonly organisation: string } {
  const [, category = '', organisation = ''] = /^[^:]*:([^:]*):?(.*)$/s.exec(subject ?? '') ?? []
  return { category, organisation }
}

function plain(sentence: Sentence, why: string | null): Story {
  return { sentence, changes: [], notes: [], why }
}

function storyOfSettings(entry: Entry, file: SettingsResponse | null): Story {
  const changes = leaves(withoutPending(entry.from), withoutPending(entry.to), file)
  const [before, after] = [pendingIn(entry.from), pendingIn(entry.to)]
  if (entry.who === 'schedule') return storyOfSchedule(entry, before, after, changes)
  if (entry.who === 'guard') return storyOfGuard(entry, before, changes)
  const notes = changes.length === 0 ? [] : notesOf(before, after)
  const undone = UNDO.exec(entry.why ?? '')
  if (undone) return { ...plain('undo', undone[2] ?? null), undone: Number(undone[1]), changes, notes }
  const [first] = changes
  if (first === undefined) return storyOfPending(entry, before, after)
  if (changes.length > 1) {
    return { ...plain('settings.many', entry.why), counts: { count: changes.length }, changes, notes }
  }
  return { ...plain(`one.${kindOf(first)}`, entry.why), change: first, notes }
}

function kindOf({ from, to, file }: Change): OneChange {
  if (to === true) return 'on'
  if (to === false) return 'off'
  if (to === undefined) return 'back'
  const before = from ?? file
  if (typeof before === 'number' && typeof to === 'number' && before !== to) return to > before ? 'raised' : 'lowered'
  return before === undefined ? 'set' : 'changed'
}

/** Of a change that sets no value, but what is to be changed later. */
function storyOfPending(entry: Entry, before: Pending, after: Pending): Story {
  const [come] = missingIn(before, after)
  if (come !== undefined) {
    const changes = leaves(undefined, come.patch, null)
    const notes: Note[] = come.until === undefined ? [] : [{ kind: 'until', at: come.until }]
    return { ...plain('scheduled', entry.why), at: come.at, changes, notes }
  }
  const [gone] = missingIn(after, before)
  if (gone !== undefined) return { ...plain('cancelled', entry.why), at: gone.at, by: gone.who }
  if (before.guard !== undefined && after.guard === undefined) return plain('unguarded', entry.why)
  return plain('settings.none', entry.why)
}

function storyOfSchedule(entry: Entry, before: Pending, after: Pending, changes: readonly Change[]): Story {
  const [done] = missingIn(after, before)
  const by = { by: done?.who ?? '' }
  if (entry.why?.startsWith('is not made')) return { ...plain('schedule.not', entry.why), ...by }
  if (done?.what === 'end') return { ...plain('schedule.end', done.why), ...by, changes }
  return { ...plain('schedule.begin', done?.why ?? entry.why), ...by, changes, notes: notesOf(before, after) }
}

function storyOfGuard(entry: Entry, before: Pending, changes: readonly Change[]): Story {
  const by = { by: before.guard?.who ?? '' }
  const why = entry.why ?? ''
  // The figures stand nowhere else.
  const [, share, requests] = /: ([\d.]+) % of (\d+) weighed requests/.exec(why) ?? []
  const counted = share === undefined ? {} : { share: Number(share) / 100, counts: { requests: Number(requests) } }
  if (why.startsWith('keeps')) return { ...plain('guard.keeps', null), ...by, ...counted }
  if (share === undefined) return { ...plain('guard.back', why), ...by, changes }
  return { ...plain('guard.counted', null), ...by, ...counted, changes }
}

function notesOf(before: Pending, after: Pending): Note[] {
  const { guard } = after
  const ends = missingIn(before, after).filter(({ what }) => what === 'end')
  const isGuarded = guard !== undefined && guard.until !== before.guard?.until
  const isEnded = guard === undefined && before.guard !== undefined
  return [
    ...ends.map(({ at }): Note => ({ kind: 'until', at })),
    ...(isGuarded ? [{ kind: 'guarded', at: guard.until, share: guard.refused } as const] : []),
    ...(isEnded ? [{ kind: 'guardEnded' } as const] : []),
  ]
}

/** What is scheduled under `there` and not under `here`. */
function missingIn(here: Pending, there: Pending): readonly ScheduledResponse[] {
  const known = new Set((here.scheduled ?? []).map(({ id }) => id))
  return (there.scheduled ?? []).filter(({ id }) => !known.has(id))
}

function storyOfOverride(entry: Entry): Story {
  const undone = UNDO.exec(entry.why ?? '')
  if (undone) {
    const changes = overrideChanges(entry.from, entry.to)
    return { ...plain('undo', undone[2] ?? null), undone: Number(undone[1]), changes }
  }
  if (entry.to === null) return { ...plain('override.removed', entry.why), changes: overrideChanges(entry.from, null) }
  const sentence = entry.from === null ? 'override.set' : 'override.changed'
  return { ...plain(sentence, entry.why), changes: overrideChanges(entry.from, entry.to) }
}

/** Without the reason, which is that of the entry, and without what is off before and after. */
function overrideChanges(from: unknown, to: unknown): readonly Change[] {
  return leaves(from, to, null).filter(
    ({ path, from, to }) => path !== 'reason' && (from ?? false) !== (to ?? false) && (from ?? null) !== (to ?? null),
  )
}

function leaves(from: unknown, to: unknown, file: SettingsResponse | null): readonly Change[] {
  return differences(from, to).map((each) => {
    const value = file === null ? null : valueAt(file, each.path)
    return { ...each, file: value === null ? undefined : value }
  })
}

function withoutPending(settings: unknown): unknown {
  if (typeof settings !== 'object' || settings === null) return settings
  return Object.fromEntries(Object.entries(settings).filter(([name]) => name !== 'pending'))
}

function pendingIn(settings: unknown): Pending {
  const { pending = {} } = (settings ?? {}) as { readonly pending?: Pending }
  return pending
}

const COUNTS = ['total', 'added', 'changed', 'removed'] as const

function countsIn(value: unknown): Readonly<Record<string, number>> {
  const counts = (value ?? {}) as Readonly<Record<string, unknown>>
  return Object.fromEntries(COUNTS.map((name) => [name, Number(counts[name] ?? 0)]))
}
