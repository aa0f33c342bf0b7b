import { useEffect } from 'react'
import type { OverrideResponse } from '../../../contract/api.ts'
import { ApiError, call, isOutcomeUnknown, serverNow } from '../../api/client.ts'
import { useLed } from '../../api/session.tsx'
import { formOf, forOrganisation, isSet, NEVER, type OverrideForm } from '../../logic/override.ts'
import {
  type Failure,
  hasCome,
  isOverBy,
  NOTHING_EDITED,
  nextEditing,
  type OverrideEvent,
  type Review,
  type Seen,
} from '../../logic/override-editing.ts'
import type { Reason } from '../../ui/confirm.tsx'
import { useKept } from '../../ui/kept-state.tsx'
import { type Own, useOwn } from './own.ts'

/** Edits the override of a user or an organisation: the state of `nextEditing`, and the API calls that change it. */
export function useOverride() {
  const own = useOwn()
  const { response, etag, reload } = own
  const { override, kind, id } = response
  const name = `override of ${kind} ${id}`
  const [editing, change] = useKept(name, NOTHING_EDITED)
  const { draft, stage } = editing
  const dispatch = (event: OverrideEvent) => change((now) => nextEditing(now, event))
  const now = () => ({ response, etag, time: serverNow() })
  const isAny = override !== null
  const isLead = useLed() !== null
  // The share that a lead gives is permanent unless somebody chooses otherwise.
  const begun = isLead && !isAny ? { ...formOf(override), expiry: NEVER } : formOf(override)
  const isMade = draft?.sent !== undefined && isSet(draft.sent.body, override)
  const isGone = !isAny && stage.at === 'unknown'
  // biome-ignore-start lint/correctness/useExhaustiveDependencies: each runs when its condition changes
  useEffect(() => dispatch({ type: 'opened' }), [name])
  useEffect(() => dispatch({ type: 'turned', isAny }), [isAny])
  useEffect(() => {
    if (isMade || isGone) dispatch({ type: 'found', now: now() })
  }, [isMade, isGone])
  // biome-ignore-end lint/correctness/useExhaustiveDependencies: as above

  return {
    draft,
    stage,
    form: draft?.form ?? begun,
    /** The version and the end of the present override. */
    set: { etag, until: override?.expiresAt ?? null } satisfies Seen,
    isOver: isOverBy(draft, override, serverNow()),
    edit: (part: Partial<OverrideForm>) =>
      dispatch({ type: 'edit', part: draft === null ? { ...begun, ...part } : part, now: now() }),
    review: () => dispatch({ type: 'review', now: now() }),
    leaveReview: () => dispatch({ type: 'leave' }),
    discard() {
      dispatch({ type: 'discard' })
      reload()
    },
    save: (review: Review) => save(own, review, dispatch),
    remove: (reason: Reason, asked: Seen) => remove(own, { reason, asked }, dispatch),
  }
}

type Dispatch = (event: OverrideEvent) => void

async function save({ response, path, reload, read }: Own, review: Review, dispatch: Dispatch) {
  dispatch({ type: 'send' })
  try {
    const body = response.kind === 'user' ? review.body : forOrganisation(review.body)
    const set = await call<OverrideResponse>('PUT', `${path}/override`, { body, ifMatch: review.etag })
    // Reads the limits that the override makes, which the response to the change lacks.
    await read()
    dispatch({ type: 'saved', review, set: set.data, etag: set.etag })
  } catch (error) {
    const why = failureOf(error)
    // The present override shows who made the conflicting change.
    if (why === 'conflict') await read()
    const open = !(error instanceof ApiError) || error.status === 401
    dispatch({ type: 'failed', review, error: error as Error, why, open })
    if (why !== 'refused') reload()
  }
}

/** @throws Error if the API refuses it */
async function remove(
  { path, reload, read }: Own,
  { reason, asked }: { readonly reason: Reason; readonly asked: Seen },
  dispatch: Dispatch,
) {
  try {
    await call('DELETE', `${path}/override`, { body: reason, ifMatch: asked.etag })
    await read()
    dispatch({ type: 'removed' })
  } catch (error) {
    const why = failureOf(error)
    if (why === 'refused') throw error
    if (why === 'conflict' && hasCome(asked.until, serverNow())) {
      await read()
      return dispatch({ type: 'over' })
    }
    dispatch({ type: 'notRemoved', removing: asked, error: error as Error, why })
    reload()
  }
}

function failureOf(error: unknown): Failure {
  if (isOutcomeUnknown(error)) return 'unknown'
  return error instanceof ApiError && error.status === 412 ? 'conflict' : 'refused'
}
