import { Button, Switch, TextInput } from '@mantine/core'
import { type FormEvent, useState } from 'react'
import type { OverrideAnswer, OverrideBody, QuotaAnswer, UserAnswer } from '../../../admin/api.ts'
import { ApiError, call, isOutcomeUnknown, serverNow } from '../../api/client.ts'
import type { Polled } from '../../api/use-poll.ts'
import { useTexts } from '../../i18n/text.tsx'
import {
  bodyOf,
  editsSince,
  formOf,
  type OverrideForm,
  type OverrideProblems,
  usedUpUnder,
  withFields,
} from '../../logic/override.ts'
import { visible } from '../../logic/visible.ts'
import { Confirm } from '../../parts/confirm.tsx'
import { Conflict } from '../../parts/conflict.tsx'
import { ExpiryField } from '../../parts/expiry.tsx'
import { fieldProblems, messageOf } from '../../parts/failure.tsx'
import { useKept } from '../../parts/keeping.tsx'
import { Note } from '../../parts/note.tsx'
import { Panel } from '../../parts/panel.tsx'
import { At, Changing } from '../../parts/small.tsx'
import { OverrideReview, UsedUpNotes } from './override-review.tsx'

interface EditorProps extends Pick<Polled<UserAnswer>, 'etag' | 'reload' | 'read'> {
  readonly answer: UserAnswer
  /** `null` where it is not known yet. */
  readonly quota: QuotaAnswer | null
  /** Of the user in the API. */
  readonly path: string
}

interface Edited {
  readonly form: OverrideForm
  /** Of what the form was last looked at on top of; `null` where another one is known to be set by now. */
  readonly etag: string | null
  /** When that ends by itself, in ISO 8601. */
  readonly until: string | null
}

/** What is reviewed: the body, the form that it was made of, and what it was made on top of. */
interface Reviewed {
  readonly form: OverrideForm
  readonly body: OverrideBody
  readonly answer: UserAnswer
  readonly etag: string | null
}

export function OverrideEditor({ answer, quota, etag, path, reload, read }: EditorProps) {
  const { t, time } = useTexts()
  const { override, user } = answer
  // Until something is edited the form follows what is set.
  const [edited, changeEdited] = useKept<Edited | null>(`override of ${user}`, null)
  const setEdited = (next: Edited | null) => changeEdited(() => next)
  const [problems, setProblems] = useState<OverrideProblems>({})
  const [error, setError] = useState<Error | null>(null)
  const [overtaken, setOvertaken] = useState(false)
  const [reviewed, setReviewed] = useState<Reviewed | null>(null)
  const [saving, setSaving] = useState(false)
  /** The version that was seen when it was asked whether to take it away; `null` where nothing is asked. */
  const [removing, setRemoving] = useState<Pick<Edited, 'etag' | 'until'> | null>(null)
  const [done, setDone] = useState<'override.saved' | 'override.removed' | 'override.over' | null>(null)
  const form = edited?.form ?? formOf(override)
  const until = override?.expiresAt ?? null
  /** What was begun on is over by itself, and nobody's change. */
  const isOver = edited !== null && override === null && hasCome(edited.until)
  const fields = fieldProblems(error)
  const problemOf = (field: string) => (problems[field] === undefined ? fields[field] : t(problems[field]))

  function edit(part: Partial<OverrideForm>): void {
    setEdited({ ...(edited ?? { etag, until }), form: { ...form, ...part } })
    setReviewed(null)
    setProblems({})
    setError(null)
    setOvertaken(false)
    setDone(null)
  }

  function review(event: FormEvent): void {
    event.preventDefault()
    const { body, problems } = bodyOf(withFields(form, answer), serverNow())
    // The form has the rest of the override that it was begun on: what somebody else has set since would be taken back.
    const isOvertaken = edited !== null && edited.etag !== null && edited.etag !== etag && !isOver
    if (edited !== null) setEdited({ ...edited, etag, until: isOver ? edited.until : until })
    setProblems(problems)
    setDone(null)
    setError(null)
    setOvertaken(isOvertaken)
    setReviewed(body === null || isOvertaken ? null : { form, body, answer, etag })
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

  async function save({ form: sent, body, etag }: Reviewed): Promise<void> {
    setSaving(true)
    try {
      const set = await call<OverrideAnswer>('PUT', `${path}/override`, { body, ifMatch: etag })
      // With the limits that it makes, which its own answer does not have.
      await read()
      changeEdited((now) => {
        const form = now && editsSince(now.form, sent, formOf(set.data))
        return form && { form, etag: set.etag, until: set.data.expiresAt }
      })
      finished('override.saved')
    } catch (caught) {
      // What is set by now says whose doing it is.
      if (isConflict(caught)) await read()
      setError(caught as Error)
      if (isOutcomeUnknown(caught) || (caught instanceof ApiError && caught.status !== 401)) setReviewed(null)
      if (!isToReadAgain(caught)) return
      changeEdited((now) => now && { ...now, etag: null })
      reload()
    } finally {
      setSaving(false)
    }
  }

  async function remove(reason: string, asked: Pick<Edited, 'etag' | 'until'>): Promise<void> {
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

  return (
    <Panel title={t('override.title')}>
      {override === null ? (
        <p className="muted">{t('override.none')}</p>
      ) : (
        <p>
          {t('override.now', { reason: override.reason })}{' '}
          {override.expiresAt && (
            <span className="muted">
              ({t('override.expiry')}: <At at={override.expiresAt} />)
            </span>
          )}
        </p>
      )}
      <Changing label={t('override.title')}>
        <form onSubmit={review} noValidate>
          <LimitFields answer={answer} form={form} edit={edit} problemOf={problemOf} />
          <div className="fields">
            <Switch
              label={t('override.bypass')}
              description={t('override.bypassText')}
              checked={form.bypassGlobal}
              onChange={(event) => edit({ bypassGlobal: event.currentTarget.checked })}
            />
            <Switch
              label={t('override.shadow')}
              description={t('quotas.shadowText')}
              checked={form.shadow}
              onChange={(event) => edit({ shadow: event.currentTarget.checked })}
            />
          </div>
          <ExpiryField
            label={t('override.expiry')}
            value={form.expiry}
            keep={form.expiry.kind === 'keep' ? form.expiry.at : until}
            error={problemOf('expiresAt')}
            onChange={(expiry) => edit({ expiry })}
          />
          <TextInput
            label={t('word.reason')}
            description={t('word.reasonHelp')}
            required
            maxLength={500}
            value={form.reason}
            onChange={(event) => edit({ reason: event.currentTarget.value })}
            error={problemOf('reason')}
          />
          <div className="actions">
            <Button type="submit" loading={saving && reviewed === null} disabled={edited === null}>
              {t('override.review')}
            </Button>
            <Button variant="default" disabled={edited === null || saving} onClick={discard}>
              {t('quotas.discard')}
            </Button>
            <Button variant="default" disabled={override === null} onClick={() => setRemoving({ etag, until })}>
              {t('override.remove')}
            </Button>
            <span role="status">{edited !== null && t('override.edited')}</span>
          </div>
        </form>
        {problems[''] !== undefined && <Note tone="bad">{t(problems[''])}</Note>}
        {reviewed && (
          <OverrideReview
            {...reviewed}
            quota={quota}
            busy={saving}
            onSave={() => save(reviewed)}
            onBack={() => setReviewed(null)}
          />
        )}
      </Changing>
      {done && (
        <Note tone="good" live>
          {t(done)}
        </Note>
      )}
      {isOver && edited.until !== null && (
        <Note tone="warn" live title={t('override.overTitle')}>
          {t('override.overText', { time: time(edited.until) })}
        </Note>
      )}
      {overtaken || isConflict(error)
        ? !isOver && <Conflict key={etag} what="override" subject={user} />
        : error && <Note tone="bad">{messageOf(error, t)}</Note>}
      {removing && (
        <Confirm
          title={`${t('override.remove')}: ${visible(user)}`}
          action={t('override.remove')}
          danger
          onConfirm={(reason) => remove(reason, removing)}
          onClose={() => setRemoving(null)}
        >
          <p>{t('override.removeText')}</p>
          <UsedUpNotes windows={usedUpUnder(null, answer, quota)} shadow={quota?.shadow === true} />
        </Confirm>
      )}
    </Panel>
  )
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

function LimitFields({
  answer,
  form,
  edit,
  problemOf,
}: {
  readonly answer: UserAnswer
  readonly form: OverrideForm
  readonly edit: (part: Partial<OverrideForm>) => void
  readonly problemOf: (field: string) => string | undefined
}) {
  const { t } = useTexts()
  return (
    <fieldset className="limits">
      <legend>{t('override.limits')}</legend>
      <p className="muted">{t('override.limitsText')}</p>
      {Object.entries(answer.windows).map(([category, windows]) => (
        <fieldset key={category} className="row">
          <legend>{category}</legend>
          {windows
            .filter(({ scope }) => scope === 'Personal')
            .map(({ window, limit }) => {
              const field = `${category}.${window}`
              const overridden = answer.override?.limits[category]?.[window] !== undefined
              return (
                <TextInput
                  key={window}
                  label={window}
                  inputMode="numeric"
                  placeholder={overridden ? t('override.default') : `${t('override.default')} ${limit}`}
                  value={form.limits[field] ?? ''}
                  onChange={(event) => edit({ limits: { ...form.limits, [field]: event.currentTarget.value } })}
                  error={problemOf(field)}
                />
              )
            })}
        </fieldset>
      ))}
    </fieldset>
  )
}
