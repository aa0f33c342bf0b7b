import type { OverrideBody, OverrideResponse } from '../../contract/api.ts'
import type { Problems } from '../i18n/en.ts'
import { bodyOf, editsSince, formOf, isSet, type Overridable, type OverrideForm, withFields } from './override.ts'

/**
 * Editing an override, from the first letter to the response of the API. Until something is edited the form follows what is set.
 *
 * | Stage     | What is so                                                       | What follows                         |
 * | --------- | ---------------------------------------------------------------- | ------------------------------------ |
 * | idle      | nothing is edited; the outcome of the last change, if any, shows | edited                               |
 * | edited    | the form has edits, and what the last review found wrong in them | reviewed, overtaken, idle            |
 * | reviewed  | the change is shown as it would be sent                          | sent, edited                         |
 * | sent      | the response is awaited; an edit meanwhile closes the review     | idle, reviewed, any stage below      |
 * | unknown   | the response was lost: the change may be set or not              | idle once it is seen to be set       |
 * | overtaken | somebody else has changed what the edits were begun on           | reviewed                             |
 * | failed    | the API refused the change                                       | edited, reviewed                     |
 */
export type Stage =
  | { readonly at: 'idle'; readonly done: Done | null }
  | { readonly at: 'edited'; readonly problems: Problems }
  | { readonly at: 'reviewed'; readonly review: Review; readonly error: Error | null }
  | { readonly at: 'sent'; readonly review: Review | null }
  /** @property removing the version that was to be removed; `null` for a change */
  | { readonly at: 'unknown'; readonly error: Error; readonly removing: Seen | null }
  | { readonly at: 'overtaken'; readonly error: Error | null; readonly problems: Problems }
  | { readonly at: 'failed'; readonly error: Error }

export type Done = 'override.saved' | 'override.removed' | 'override.over'

/** The version of an override that somebody has looked at. */
export interface Seen {
  /** `null` if the override has changed since, or may have changed. */
  readonly etag: string | null
  /** When the override ends, in ISO 8601; `null` for never, or if there is no override. */
  readonly until: string | null
}

/** The edits, and the override on which they were last based. */
export interface Draft extends Seen {
  readonly form: OverrideForm
  /** What was sent without a response, and may be set by now. */
  readonly sent?: Review
}

/** What is reviewed: the body, the form from which it was made, and the owner with the present override. */
export interface Review {
  readonly form: OverrideForm
  readonly body: OverrideBody
  readonly response: Overridable
  readonly etag: string | null
}

export interface Editing {
  readonly draft: Draft | null
  readonly stage: Stage
}

/** The override as it was last read. */
export interface Now {
  readonly response: Overridable
  readonly etag: string | null
  /** By the gateway's clock, in milliseconds since the epoch. */
  readonly time: number
}

export type OverrideEvent =
  /** Somebody comes to the page. */
  | { readonly type: 'opened' }
  | { readonly type: 'edit'; readonly part: Partial<OverrideForm>; readonly now: Now }
  | { readonly type: 'review'; readonly now: Now }
  | { readonly type: 'leave' }
  | { readonly type: 'discard' }
  | { readonly type: 'send' }
  | { readonly type: 'saved'; readonly review: Review; readonly set: OverrideResponse; readonly etag: string | null }
  /** @property open whether the same review can be sent again */
  | {
      readonly type: 'failed'
      readonly review: Review
      readonly error: Error
      readonly why: Failure
      readonly open: boolean
    }
  | { readonly type: 'removed' | 'over' }
  | { readonly type: 'notRemoved'; readonly removing: Seen; readonly error: Error; readonly why: Failure }
  /** A change or removal was made, although its response was lost. */
  | { readonly type: 'found'; readonly now: Now }
  /** There is an override now, or none any more. */
  | { readonly type: 'turned'; readonly isAny: boolean }

export type Failure = 'unknown' | 'conflict' | 'refused'

export const NOTHING_EDITED: Editing = { draft: null, stage: { at: 'idle', done: null } }
const NO_PROBLEMS: Problems = {}
const EDITED: Stage = { at: 'edited', problems: NO_PROBLEMS }

export function nextEditing(editing: Editing, event: OverrideEvent): Editing {
  const { draft, stage } = editing
  switch (event.type) {
    case 'opened':
    case 'leave':
      return { draft, stage: draft === null ? NOTHING_EDITED.stage : EDITED }
    case 'edit':
      return edited(editing, event.part, event.now)
    case 'review':
      // What is on its way must be known before anything is set on top of it.
      return draft === null || stage.at === 'sent' ? editing : reviewed(draft, event.now)
    case 'discard':
      return NOTHING_EDITED
    case 'send':
      return stage.at === 'reviewed' ? { draft, stage: { at: 'sent', review: stage.review } } : editing
    case 'saved':
      return { draft: left(draft, event.review, event.set, event.etag), stage: { at: 'idle', done: 'override.saved' } }
    case 'failed':
      return failed(editing, event)
    case 'removed':
      return { draft: null, stage: { at: 'idle', done: 'override.removed' } }
    case 'over':
      return { draft, stage: { at: 'idle', done: 'override.over' } }
    case 'notRemoved':
      // The draft keeps its etag: the question was about the override to remove, so nobody has compared the edits with the present one.
      return { draft, stage: troubleOf(event.why, event.error, event.removing) }
    case 'found':
      return found(editing, event.now)
    case 'turned':
      return stage.at === 'idle' && (stage.done === 'override.saved') !== event.isAny
        ? { draft, stage: NOTHING_EDITED.stage }
        : editing
  }
}

function edited({ draft, stage }: Editing, part: Partial<OverrideForm>, { response, etag }: Now): Editing {
  const { override } = response
  const begun = draft ?? { form: formOf(override), etag, until: override?.expiresAt ?? null }
  return {
    draft: { ...begun, form: { ...begun.form, ...part } },
    stage: stage.at === 'sent' ? { at: 'sent', review: null } : EDITED,
  }
}

function reviewed(draft: Draft, { response, etag, time }: Now): Editing {
  const { override } = response
  const isOver = isOverBy(draft, override, time)
  // An override that is known to be over has ended, even if the clock, known to the second, says otherwise.
  const now = isOver ? Math.max(time, Date.parse(draft.until ?? '')) : time
  const { body, problems } = bodyOf(withFields(draft.form, response), now)
  const seen = { ...draft, etag, until: isOver ? draft.until : (override?.expiresAt ?? null) }
  // The form contains the rest of the earlier override, so it would undo what somebody else has set since then.
  if (draft.etag !== null && draft.etag !== etag && !isOver) {
    return { draft: seen, stage: { at: 'overtaken', error: null, problems } }
  }
  if (body === null) return { draft: seen, stage: { at: 'edited', problems } }
  const review = { form: draft.form, body, response, etag }
  return { draft: seen, stage: { at: 'reviewed', review, error: null } }
}

function failed({ draft, stage }: Editing, event: Extract<OverrideEvent, { type: 'failed' }>): Editing {
  const { review, error, why, open } = event
  if (why === 'refused') {
    const isOpen = open && stage.at === 'sent' && stage.review !== null
    return { draft, stage: isOpen ? { at: 'reviewed', review, error } : { at: 'failed', error } }
  }
  const behind = draft && { ...draft, etag: null, ...(why === 'unknown' && { sent: review }) }
  return { draft: behind, stage: troubleOf(why, error, null) }
}

function troubleOf(why: Failure, error: Error, removing: Seen | null): Stage {
  if (why === 'refused') return { at: 'failed', error }
  if (why === 'unknown') return { at: 'unknown', error, removing }
  return { at: 'overtaken', error, problems: NO_PROBLEMS }
}

function found({ draft, stage }: Editing, { response, etag, time }: Now): Editing {
  const { override } = response
  if (draft?.sent !== undefined && isSet(draft.sent.body, override)) {
    return { draft: left(draft, draft.sent, override, etag), stage: { at: 'idle', done: 'override.saved' } }
  }
  if (override !== null || stage.at !== 'unknown' || stage.removing === null) return { draft, stage }
  const done = hasCome(stage.removing.until, time) ? 'override.over' : 'override.removed'
  return { draft, stage: { at: 'idle', done } }
}

/** What was sent is set, so only later edits are left. */
function left(draft: Draft | null, { form: sent }: Review, set: OverrideResponse | null, etag: string | null) {
  const form = draft && editsSince(draft.form, sent, formOf(set))
  return form && { form, etag, until: set?.expiresAt ?? null }
}

/** Whether the override on which the edits are based has ended by itself, without a change by anybody. */
export function isOverBy(draft: Draft | null, override: OverrideResponse | null, time: number): boolean {
  return draft !== null && override === null && hasCome(draft.until, time)
}

/** Whether a moment has come by the gateway's clock, which is known to the second. */
export function hasCome(at: string | null, time: number): boolean {
  return at !== null && Date.parse(at) <= time + 1000
}
