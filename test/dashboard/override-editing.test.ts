import { expect, test } from 'vitest'
import type { OverrideResponse } from '../../src/contract/api.ts'
import { formOf, type Overridable } from '../../src/dashboard/logic/override.ts'
import {
  type Editing,
  NOTHING_EDITED,
  type Now,
  nextEditing,
  type OverrideEvent,
  type Review,
} from '../../src/dashboard/logic/override-editing.ts'

/** Editing an override, from the first letter to the response of the API. */

const TIME = Date.parse('2026-11-20T10:00:00Z')

function setTo(limit: number, expiresAt: string | null = null): OverrideResponse {
  const limits = { read: { '1h': limit } }
  return { version: limit, limits, bypassGlobal: false, shadow: false, reason: 'a fair', expiresAt } as OverrideResponse
}

function now(override: OverrideResponse | null, time = TIME): Now {
  const windows = { read: [{ scope: 'Personal' as const, window: '1h', used: 0, limit: 10 }] }
  const response: Overridable = { kind: 'user', id: 'alice', windows, override }
  return { response, etag: `"${override?.version ?? 0}"`, time }
}

const limit = (text: string) => ({ limits: { 'read.1h': text } })

function after(events: readonly OverrideEvent[], editing: Editing = NOTHING_EDITED): Editing {
  return events.reduce(nextEditing, editing)
}

/** Sent on top of a limit of 20, but for the response. */
function sent(): { readonly editing: Editing; readonly review: Review } {
  const at = now(setTo(20))
  const reviewed = after([
    { type: 'edit', part: limit('30'), now: at },
    { type: 'review', now: at },
  ])
  if (reviewed.stage.at !== 'reviewed') throw new Error(reviewed.stage.at)
  return { editing: nextEditing(reviewed, { type: 'send' }), review: reviewed.stage.review }
}

test('a change that is saved leaves no edits', () => {
  const { editing, review } = sent()
  expect(editing.stage.at).toBe('sent')
  expect(after([{ type: 'saved', review, set: setTo(30), etag: '"30"' }], editing)).toEqual({
    draft: null,
    stage: { at: 'idle', done: 'override.saved' },
  })
})

test('what is edited while a change is sent closes the review and stays an edit on top of what is set then', () => {
  const { editing, review } = sent()
  const edited = after([{ type: 'edit', part: { reason: 'another' }, now: now(setTo(20)) }], editing)
  expect(edited.stage).toEqual({ at: 'sent', review: null })
  expect(nextEditing(edited, { type: 'review', now: now(setTo(20)) })).toBe(edited)
  const { draft } = after([{ type: 'saved', review, set: setTo(30), etag: '"30"' }], edited)
  expect(draft).toEqual({ form: { ...formOf(setTo(30)), reason: 'another' }, etag: '"30"', until: null })
})

test('what is edited while a change is sent outlives that somebody else was first', () => {
  const { editing, review } = sent()
  const edited = after([{ type: 'edit', part: { reason: 'another' }, now: now(setTo(20)) }], editing)
  const overtaken = { type: 'failed', review, error: new Error('no'), why: 'conflict', open: false } as const
  expect(nextEditing(edited, overtaken)).toMatchObject({
    draft: { form: { ...formOf(setTo(30)), reason: 'another' }, etag: null },
    stage: { at: 'overtaken' },
  })
})

test('a change whose response was lost is told as saved once it is seen to be set, and not before', () => {
  const { editing, review } = sent()
  const lost = after([{ type: 'failed', review, error: new Error('lost'), why: 'unknown', open: true }], editing)
  expect(lost).toMatchObject({ stage: { at: 'unknown' }, draft: { etag: null, sent: review } })
  expect(after([{ type: 'found', now: now(setTo(20)) }], lost)).toEqual(lost)
  expect(after([{ type: 'found', now: now(setTo(30)) }], lost).stage).toEqual({ at: 'idle', done: 'override.saved' })
})

test('a review is not shown where somebody else has changed what the edits were begun on', () => {
  const { stage, draft } = after([
    { type: 'edit', part: { reason: 'mine' }, now: now(setTo(20)) },
    { type: 'review', now: now(setTo(25)) },
  ])
  expect([stage.at, draft?.etag]).toEqual(['overtaken', '"25"'])
})

test('an end that comes during an edit is nobody’s change, and the review is shown', () => {
  const soon = new Date(TIME + 60_000).toISOString()
  const { stage } = after([
    { type: 'edit', part: { ...limit('30'), expiry: { kind: 'never' } }, now: now(setTo(20, soon)) },
    { type: 'review', now: now(null, TIME + 61_000) },
  ])
  expect(stage.at).toBe('reviewed')
})

test('a review stays open where the session has ended, and closes where the API refuses the change', () => {
  const { editing, review } = sent()
  const failed = { type: 'failed', review, error: new Error('no'), why: 'refused' } as const
  expect(nextEditing(editing, { ...failed, open: true }).stage.at).toBe('reviewed')
  expect(nextEditing(editing, { ...failed, open: false }).stage.at).toBe('failed')
})
