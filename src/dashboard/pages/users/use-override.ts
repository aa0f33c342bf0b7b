import { useEffect, useRef, useState } from 'react'
import type { OverrideBody, OverrideResponse } from '../../../admin/api.ts'
import { ApiError, call, isOutcomeUnknown, serverNow } from '../../api/client.ts'
import type { Polled } from '../../api/use-poll.ts'
import {
  bodyOf,
  editsSince,
  formOf,
  forOrganisation,
  isSet,
  type Overridable,
  type OverrideForm,
  type OverrideProblems,
  withFields,
} from '../../logic/override.ts'
import { useKept } from '../../ui/kept-state.tsx'

export interface OverrideProps extends Pick<Polled<unknown>, 'etag' | 'reload' | 'read'> {
  readonly response: Overridable
  /** Of the user or the organisation in the API. */
  readonly path: string
}

/** What was looked at. */
export interface Seen {
  /** `null` if another one is known to be set by now. */
  readonly etag: string | null
  /** When it ends by itself, in ISO 8601. */
  readonly until: string | null
}

/** With what it was last looked at on top of. */
interface Edited extends Seen {
  readonly form: OverrideForm
  /** What was sent and never answered: it may be set by now. */
  readonly sent?: Reviewed
}

/** What is reviewed: the body, the form that it was made of, and what it was made on top of. */
interface Reviewed {
  readonly form: OverrideForm
  readonly body: OverrideBody
  readonly response: Overridable
  readonly etag: string | null
}

/** Editing the override of a user or an organisation, from the first letter to the answer of the API. */
export function useOverride({ response, etag, path, reload, read }: OverrideProps) {
  const { override, kind, id } = response
  // Until something is edited the form follows what is set.
  const [edited, changeEdited] = useKept<Edited | null>(`override of ${kind} ${id}`, null)
  const setEdited = (next: Edited | null) => changeEdited(() => next)
  const [problems, setProblems] = useState<OverrideProblems>({})
  const [error, setError] = useState<Error | null>(null)
  const [overtaken, setOvertaken] = useState(false)
  const [reviewed, setReviewed] = useState<Reviewed | null>(null)
  const [saving, setSaving] = useState(false)
  const [done, setDone] = useState<'override.saved' | 'override.removed' | 'override.over' | null>(null)
  /** What was to be taken away, the last time, if nothing was set since. */
  const removed = useRef<Seen | null>(null)
  const isAny = override !== null
  // One that was set may end, and if none was set somebody else may set one.
  useEffect(() => setDone((now) => ((now === 'override.saved') === isAny ? now : null)), [isAny])
  const form = edited?.form ?? formOf(override)
  const until = override?.expiresAt ?? null
  /** What was begun on is over by itself, and nobody's change. */
  const isOver = edited !== null && override === null && hasCome(edited.until)

  const sent = edited?.sent
  const isMade = sent !== undefined && isSet(sent.body, override)
  // biome-ignore lint/correctness/useExhaustiveDependencies: once, when it is found out
  useEffect(() => {
    if (!isMade) return
    settle(sent.form, override, etag)
    finished('override.saved')
  }, [isMade])

  // So is what was to be taken away, where its answer was lost and nothing is set.
  const isGone = override === null && isOutcomeUnknown(error)
  // biome-ignore lint/correctness/useExhaustiveDependencies: as above
  useEffect(() => {
    if (isGone && removed.current !== null)
      finished(hasCome(removed.current.until) ? 'override.over' : 'override.removed')
  }, [isGone])

  /** What was sent is set: only what was edited since is left. */
  function settle(sent: OverrideForm, set: OverrideResponse | null, etag: string | null): void {
    changeEdited((now) => {
      const form = now && editsSince(now.form, sent, formOf(set))
      return form && { form, etag, until: set?.expiresAt ?? null }
    })
  }

  function edit(part: Partial<OverrideForm>): void {
    setEdited({ ...(edited ?? { etag, until }), form: { ...form, ...part } })
    setReviewed(null)
    setProblems({})
    setError(null)
    setOvertaken(false)
    setDone(null)
  }

  function review(): void {
    // What is known to be over has come, also where the clock, known to the second, has it still to come.
    const now = isOver && edited.until !== null ? Math.max(serverNow(), Date.parse(edited.until)) : serverNow()
    const { body, problems } = bodyOf(withFields(form, response), now)
    // The form has the rest of the override that it was begun on: what somebody else has set since would be taken back.
    const isOvertaken = edited !== null && edited.etag !== null && edited.etag !== etag && !isOver
    if (edited !== null) setEdited({ ...edited, etag, until: isOver ? edited.until : until })
    setProblems(problems)
    setDone(null)
    setError(null)
    setOvertaken(isOvertaken)
    setReviewed(body === null || isOvertaken ? null : { form, body, response, etag })
  }

  function discard(): void {
    setEdited(null)
    setProblems({})
    finished(null)
    reload()
  }

  function finished(what: typeof done): void {
    setReviewed(null)
    setError(null)
    setOvertaken(false)
    setDone(what)
  }

  async function save(sent: Reviewed): Promise<void> {
    const { body, etag } = sent
    setSaving(true)
    removed.current = null
    try {
      const toSet = kind === 'user' ? body : forOrganisation(body)
      const set = await call<OverrideResponse>('PUT', `${path}/override`, { body: toSet, ifMatch: etag })
      // With the limits that it makes, which its own answer does not have.
      await read()
      settle(sent.form, set.data, set.etag)
      finished('override.saved')
    } catch (caught) {
      // What is set by now says whose doing it is.
      if (isConflict(caught)) await read()
      setError(caught as Error)
      if (isOutcomeUnknown(caught) || (caught instanceof ApiError && caught.status !== 401)) setReviewed(null)
      if (!isToReadAgain(caught)) return
      changeEdited((now) => now && { ...now, etag: null, ...(isOutcomeUnknown(caught) && { sent }) })
      reload()
    } finally {
      setSaving(false)
    }
  }

  async function remove(reason: string, asked: Seen): Promise<void> {
    removed.current = asked
    try {
      await call('DELETE', `${path}/override`, { body: reason === '' ? {} : { reason }, ifMatch: asked.etag })
      await read()
      setEdited(null)
      finished('override.removed')
    } catch (caught) {
      if (isConflict(caught) && hasCome(asked.until)) {
        await read()
        return finished('override.over')
      }
      if (!isToReadAgain(caught)) throw caught
      // What is set by now has not been looked at: the question was about another one.
      finished(null)
      setError(caught as Error)
      reload()
    }
  }

  return {
    form,
    /** What the form was begun on; `null` if nothing is edited. */
    begunOn: edited,
    /** What is set. */
    set: { etag, until } satisfies Seen,
    problems,
    error,
    isOver,
    isConflict: overtaken || isConflict(error),
    reviewed,
    saving,
    done,
    edit,
    review,
    leaveReview: () => setReviewed(null),
    discard,
    save,
    remove,
  }
}

/** What is set is, or may be, no more what was looked at. */
function isToReadAgain(error: unknown): boolean {
  return isOutcomeUnknown(error) || isConflict(error)
}

function isConflict(error: unknown): boolean {
  return error instanceof ApiError && error.status === 412
}

/** By the clock of the listener, which is known to the second. */
function hasCome(at: string | null): boolean {
  return at !== null && Date.parse(at) <= serverNow() + 1000
}
