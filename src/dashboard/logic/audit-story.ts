import type { AuditResponse, GrantResponse, SettingsResponse } from '../../contract/api.ts'
import type { NameIn, TextKey } from '../i18n/en.ts'
import { UNDO } from './audit-undone.ts'
import { type Difference, differences } from './diff.ts'
import { type Layer, layersIn, overrideAt, permanentIn, settingsAt } from './layers.ts'
import { valueAt } from './settings.ts'

export type Entry = AuditResponse['entries'][number]
export type Kind = Entry['what']

/** The kinds of entries, in the order in which the filter offers them. */
export const KINDS = [
  'settings',
  'override',
  'organisation_override',
  'overrides',
  'grant',
  'reset',
  'quota_reset',
  'token_created',
  'token_revoked',
  'token_opened',
  'tokens_revoked',
  'tokens_imported',
  'user_forgotten',
] as const satisfies readonly Kind[]

/** The content of an audit entry, for a sentence in any language. */
export interface Story {
  readonly sentence: Sentence
  /** Who had made the change that the schedule or the guard handled, or that was cancelled. */
  readonly by?: string
  /** The number of the change that was undone. */
  readonly undone?: number
  /** The id of the access key that was replaced. */
  readonly old?: string
  /** The moment that the sentence names, such as a begin or an end, in ISO 8601. */
  readonly at?: string
  readonly counts?: Readonly<Record<string, number>>
  /** The share of refused requests that the guard counted, 0 to 1. */
  readonly share?: number
  /** The one changed value, if the sentence is about it. */
  readonly change?: Change
  /** The changed values, if the sentence is not about a single one. */
  readonly changes: readonly Change[]
  readonly notes: readonly Note[]
  /** The given reason, without what the sentence already says. */
  readonly why: string | null
}

/** What an entry says, as the key of its text without `audit.say.`. */
export type Sentence = NameIn<TextKey, 'audit.say.'>

export type OneChange = 'raised' | 'lowered' | 'changed' | 'on' | 'off' | 'set' | 'back'

/** A changed value. `from` or `to` is `undefined` where the file, or the default, applies. */
export interface Change extends Difference {
  /** The value without any change: the file's present value or, for an override, the default. `undefined` if unknown. */
  readonly file: unknown
}

/** A side effect of a change of the settings or of an override. */
export type Note =
  | { readonly kind: 'until'; readonly at: string }
  | { readonly kind: 'guarded'; readonly at: string; readonly share: number }
  | { readonly kind: 'guardEnded' }
  /** An earlier change loses its end, because its value is now permanent. */
  | { readonly kind: 'dropped'; readonly at: string }
  /** The value was set before the change, which only moves its end. */
  | { readonly kind: 'moved'; readonly from: string; readonly at: string }

/** The story of an entry, with each of its notes once. @param file the file's present values; `null` if unknown */
export function storyOf(entry: Entry, file: SettingsResponse | null): Story {
  const story = storyOfKind(entry, file)
  const notes = new Map(story.notes.map((note) => [JSON.stringify(note), note]))
  return { ...story, notes: [...notes.values()] }
}

function storyOfKind(entry: Entry, file: SettingsResponse | null): Story {
  switch (entry.what) {
    case 'settings':
      return storyOfSettings(entry, file)
    case 'override':
    case 'organisation_override':
      return storyOfOverride(entry)
    case 'overrides': {
      const [, undone, why = null] = UNDO.exec(entry.why ?? '') ?? []
      const counts = { counts: countsIn(entry.to) }
      if (undone !== undefined) return { ...plain('overrides.undo', why), undone: Number(undone), ...counts }
      return { ...plain('overrides', entry.why), ...counts }
    }
    case 'quota_reset': {
      const isOf = entry.subject?.startsWith('organisation:')
      const sentence = isOf ? 'quota_reset_organisation' : 'quota_reset'
      return { ...plain(sentence, entry.why), changes: leaves(undefined, entry.from, null) }
    }
    case 'grant':
      return storyOfGrant(entry)
    case 'token_created':
      return { ...plain(entry.what, entry.why), ...rotationIn(entry.to) }
    case 'tokens_revoked':
    case 'tokens_imported':
      return { ...plain(entry.what, entry.why), counts: { count: tokensIn(entry.to) } }
    default:
      return plain(entry.what, entry.why)
  }
}

function storyOfGrant({ to, why }: Entry): Story {
  const { tokens = 0, until, endedAt = null } = (to ?? {}) as Partial<GrantResponse>
  if (endedAt !== null) return plain('grant.ended', why)
  return { ...plain('grant.given', why), counts: { tokens }, ...(until !== undefined && { at: until }) }
}

/** The name of a forgotten user in the audit. */
const FORGOTTEN = /^forgotten-[0-9a-f]{12}$/

/** Whether POST /api/audit/ID/undo can put back what the entry replaced. */
export function isUndoable(entry: Entry): boolean {
  if (entry.what === 'override') return !FORGOTTEN.test(entry.subject ?? '')
  if (entry.what !== 'settings') return entry.what === 'organisation_override' || entry.what === 'overrides'
  if (entry.who === 'schedule') return storyOfSchedule(entry).sentence === 'schedule.begin'
  return !(entry.why ?? '').startsWith('keeps') || entry.who !== 'guard'
}

/** Whether all that a change has set has ended, so that the same is left as without the change. @param at milliseconds since the epoch */
export function isOver({ from, to }: Entry, at: number): boolean {
  return leftAt(to, at) !== leftAt(to, Number.NEGATIVE_INFINITY) && leftAt(from, at) === leftAt(to, at)
}

/** The part of a value that has not ended. A single override has its end among its values. */
function leftAt(value: unknown, at: number): string {
  const hasEnded = (until: unknown) => typeof until === 'string' && Date.parse(until) <= at
  const permanent = permanentIn(value)
  const layers = layersIn(value).flatMap(({ id, until }) => (hasEnded(until) ? [] : [id, until]))
  return JSON.stringify([hasEnded(permanent?.expiresAt) ? null : permanent, ...layers])
}

/** What an undo changes: each value goes from what the change has set back to what was there before. */
export function comesBack(entry: Entry, file: SettingsResponse | null): readonly Change[] {
  return changesIn(entry, file).map(({ from, to, ...change }) => ({ ...change, from: to, to: from }))
}

/** The differences that a change of the settings or of an override made. */
export function changesIn(entry: Entry, file: SettingsResponse | null): readonly Change[] {
  // A file of overrides may have changed thousands of them.
  if (entry.what === 'overrides') return []
  return entry.what === 'settings' ? changesOf(entry, file) : overrideChanges(entry)
}

/** The category whose windows a `quota_reset` has emptied, and the organisation if it names one. */
export function emptiedIn({ subject }: Entry): { readonly category: string; readonly organisation: string } {
  const [, category = '', organisation = ''] = /^[^:]*:([^:]*):?(.*)$/s.exec(subject ?? '') ?? []
  return { category, organisation }
}

function plain(sentence: Sentence, why: string | null): Story {
  return { sentence, changes: [], notes: [], why }
}

function storyOfSettings(entry: Entry, file: SettingsResponse | null): Story {
  if (entry.who === 'schedule') return storyOfSchedule(entry, file)
  const changes = changesOf(entry, file)
  if (entry.who === 'guard') return storyOfGuard(entry, changes)
  const notes = notesOf(entry)
  const undone = UNDO.exec(entry.why ?? '')
  if (undone) return { ...plain('undo', undone[2] ?? null), undone: Number(undone[1]), changes, notes }
  const [first] = changes
  if (first === undefined) return storyOfLayers(entry)
  if (changes.length > 1) {
    return { ...plain('settings.many', entry.why), counts: { count: changes.length }, changes, notes }
  }
  return { ...plain(`one.${kindOf(first)}`, entry.why), change: first, notes }
}

/** The differences that a change has made at its moment in the values in force. */
function changesOf(entry: Entry, file: SettingsResponse | null, before = Date.parse(entry.at)): readonly Change[] {
  return leaves(settingsAt(entry.from, before), settingsAt(entry.to, Date.parse(entry.at)), file)
}

function kindOf({ from, to, file }: Change): OneChange {
  if (to === true) return 'on'
  if (to === false) return 'off'
  if (to === undefined) return 'back'
  const before = from ?? file
  if (typeof before === 'number' && typeof to === 'number' && before !== to) return to > before ? 'raised' : 'lowered'
  return before === undefined ? 'set' : 'changed'
}

/** The story of a change that sets nothing now, but affects what begins or ends later. */
function storyOfLayers(entry: Entry): Story {
  const at = Date.parse(entry.at)
  const isToCome = ({ from }: Layer): boolean => from !== null && Date.parse(from) > at
  const come = missingIn(entry.from, entry.to).find(isToCome)
  if (come !== undefined) {
    const notes: Note[] = come.until === null ? [] : [{ kind: 'until', at: come.until }]
    const changes = leaves(undefined, come.value, null)
    return { ...plain('scheduled', entry.why), at: come.from ?? '', changes, notes }
  }
  const gone = missingIn(entry.to, entry.from).find(isToCome)
  if (gone !== undefined) return { ...plain('cancelled', entry.why), at: gone.from ?? '', by: gone.who ?? '' }
  const [added] = endsIn(entry.from, entry.to)
  if (added !== undefined) return { ...plain('ends', entry.why), at: added.until ?? '', notes: notesOf(entry) }
  const [stays] = endsIn(entry.to, entry.from)
  if (stays !== undefined) return { ...plain('cancelled', entry.why), at: stays.until ?? '', by: stays.who ?? '' }
  return guardsEnded(entry).length > 0 ? plain('unguarded', entry.why) : plain('settings.none', entry.why)
}

function storyOfSchedule(entry: Entry, file: SettingsResponse | null = null): Story {
  const at = Date.parse(entry.at)
  const isEnd = entry.why?.startsWith('ends')
  const moment = (layer: Layer): number => Date.parse((isEnd ? layer.until : layer.from) ?? '')
  const after = new Map(layersIn(entry.to).map((layer) => [layer.id, layer]))
  const isIt = (layer: Layer): boolean =>
    moment(layer) <= at && (!isEnd || !after.has(layer.id)) && entry.why?.includes(` by ${layer.who}`) === true
  const done = layersIn(entry.from).find(isIt)
  const by = { by: done?.who ?? '' }
  if (entry.why?.startsWith('is not made')) return { ...plain('schedule.not', entry.why), ...by }
  const changes = changesOf(entry, file, done === undefined ? at : moment(done) - 1)
  if (isEnd) return { ...plain('schedule.end', done?.why ?? entry.why), ...by, changes }
  const notes: Note[] = [
    ...(done !== undefined && done.until !== null ? [{ kind: 'until', at: done.until } as const] : []),
    ...(done?.guard === undefined ? [] : [guardNote(done.guard)]),
    ...guardsEnded(entry),
  ]
  return { ...plain('schedule.begin', done?.why ?? entry.why), ...by, changes, notes }
}

function storyOfGuard(entry: Entry, changes: readonly Change[]): Story {
  const why = entry.why ?? ''
  const by = { by: /^\w+(?: back)? the change of (.*?)(?:: |$)/.exec(why)?.[1] ?? '' }
  // The figures are only in this text.
  const [, share, requests] = /: ([\d.]+) % of (\d+) weighed requests/.exec(why) ?? []
  const counted = share === undefined ? {} : { share: Number(share) / 100, counts: { requests: Number(requests) } }
  if (why.startsWith('keeps')) return { ...plain('guard.keeps', null), ...by, ...counted }
  if (share === undefined) return { ...plain('guard.back', why), ...by, changes }
  return { ...plain('guard.counted', null), ...by, ...counted, changes }
}

/** Ends that the change adds and removes, its own guard, and guards that it has ended. */
function notesOf(entry: Entry): Note[] {
  const { from, to } = entry
  const added = missingIn(from, to)
  return [
    ...endNotes(from, to),
    ...added.flatMap(({ guard }): Note[] => (guard === undefined ? [] : [guardNote(guard)])),
    ...guardsEnded(entry),
  ]
}

/** The ends that a change adds and removes. If one of each belongs to the same value, the end has moved. */
function endNotes(from: unknown, to: unknown): Note[] {
  const dropped = [...endsIn(to, from)]
  const notes = endsIn(from, to).map((layer): Note => {
    const place = dropped.findIndex((other) => isSame(other, layer))
    const [before] = place === -1 ? [] : dropped.splice(place, 1)
    const at = layer.until ?? ''
    return before === undefined ? { kind: 'until', at } : { kind: 'moved', from: before.until ?? '', at }
  })
  return [...notes, ...dropped.map(({ until }): Note => ({ kind: 'dropped', at: until ?? '' }))]
}

/** Whether two layers have the same values, apart from the reason of an override. */
function isSame({ value: a }: Layer, { value: b }: Layer): boolean {
  return differences({ ...a, reason: '' }, { ...b, reason: '' }).length === 0
}

function guardNote({ until, refused }: NonNullable<Layer['guard']>): Note {
  return { kind: 'guarded', at: until, share: refused }
}

/** Guards that ran before the change and not after it, because their layers are gone or have no guard any more. */
function guardsEnded({ from, to }: Entry): Note[] {
  const still = new Set(layersIn(to).flatMap(({ id, guard }) => (guard === undefined ? [] : [id])))
  return layersIn(from).flatMap(({ id, guard }): Note[] =>
    guard === undefined || still.has(id) ? [] : [{ kind: 'guardEnded' }],
  )
}

/** Layers of `there` that `here` lacks. */
function missingIn(here: unknown, there: unknown): readonly Layer[] {
  const known = new Set(layersIn(here).map(({ id }) => id))
  return layersIn(there).filter(({ id }) => !known.has(id))
}

/** Layers with an end that `here` lacks, or has without this end. */
function endsIn(here: unknown, there: unknown): readonly Layer[] {
  const known = new Set(layersIn(here).map(({ id, until }) => `${id} ${until}`))
  return layersIn(there).filter(({ id, until }) => until !== null && !known.has(`${id} ${until}`))
}

function storyOfOverride(entry: Entry): Story {
  const changes = overrideChanges(entry)
  // The new end is among the changes, as the value `expiresAt`.
  const notes = endNotes(entry.from, entry.to).filter(({ kind }) => kind !== 'until')
  const undone = UNDO.exec(entry.why ?? '')
  if (undone) return { ...plain('undo', undone[2] ?? null), undone: Number(undone[1]), changes, notes }
  if (entry.to === null) return { ...plain('override.removed', entry.why), changes, notes }
  const sentence = entry.from === null ? 'override.set' : 'override.changed'
  return { ...plain(sentence, entry.why), changes, notes }
}

/** The changes of an override, without the reason, which belongs to the entry, and without values that are off before and after. */
function overrideChanges({ at, from: before, to: after }: Entry): readonly Change[] {
  const [from, to] = [overrideAt(before, Date.parse(at)), overrideAt(after, Date.parse(at))]
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

function tokensIn(value: unknown): number {
  const { tokens } = (value ?? {}) as { readonly tokens?: unknown }
  return Array.isArray(tokens) ? tokens.length : 0
}

/** The parts of the story about a replaced access key; `null` if no key was replaced. */
function rotationIn(value: unknown): Pick<Story, 'sentence' | 'at' | 'old'> | null {
  const { replaces } = (value ?? {}) as { readonly replaces?: { readonly id?: unknown; readonly expiresAt?: unknown } }
  if (typeof replaces?.expiresAt !== 'string') return null
  return { sentence: 'token_rotated', at: replaces.expiresAt, old: String(replaces.id) }
}

/** Whether an access key was created with a link. */
export function wasMadeByLink(entry: Entry | null): boolean {
  return (entry?.to as { readonly linkUntil?: unknown } | null | undefined)?.linkUntil !== undefined
}

const COUNTS = ['total', 'added', 'changed', 'removed'] as const

function countsIn(value: unknown): Readonly<Record<string, number>> {
  const counts = (value ?? {}) as Readonly<Record<string, unknown>>
  return Object.fromEntries(COUNTS.map((name) => [name, Number(counts[name] ?? 0)]))
}
