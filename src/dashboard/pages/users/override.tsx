import { Button, Switch, TextInput } from '@mantine/core'
import { type FormEvent, useState } from 'react'
import type { OrganisationOverrideResponse, OverrideResponse, QuotaResponse } from '../../../contract/api.ts'
import { useLed, useQuota } from '../../api/session.tsx'
import type { Problems } from '../../i18n/en.ts'
import { number, t, time, windowName } from '../../i18n/text.ts'
import { aboveShare, endOf, flatOf, type Overridable, SCOPE_OF } from '../../logic/override.ts'
import type { Seen } from '../../logic/override-editing.ts'
import { visible } from '../../logic/visible.ts'
import { Confirm, type ConfirmProps } from '../../ui/confirm.tsx'
import { ExpiryField } from '../../ui/expiry.tsx'
import { Failed, fieldProblems } from '../../ui/failure.tsx'
import { bound, Choice, Discard, useFocusWrong } from '../../ui/form.tsx'
import { Panel } from '../../ui/panel.tsx'
import { At, Changing, ForOperators, Note, Plain } from '../../ui/small.tsx'
import { Conflict } from '../audit/conflict.tsx'
import { EndNotes, OverrideLayers } from './override-layers.tsx'
import { OverrideLines } from './override-lines.tsx'
import { OverrideReview, UsedUpNotes } from './override-review.tsx'
import { useOwn } from './own.ts'
import { Saved } from './quick-actions.tsx'
import { useOverride } from './use-override.ts'

/** The kinds of entries in the audit. */
const NAMES = { user: 'override', organisation: 'organisation_override' } as const

interface InForceProps {
  readonly override: OverrideResponse | OrganisationOverrideResponse | null
  readonly kind?: Overridable['kind']
}

/** The reason and the end of the override, or that there is none. */
export function OverrideInForce({ override, kind = 'user' }: InForceProps) {
  if (override === null) return <p className="muted">{t(`${kind}s.override.none`)}</p>
  return (
    <>
      <p>
        {t('override.now', { reason: override.reason })}{' '}
        {override.expiresAt && (
          <span className="muted">
            ({t('override.expiry')}
            {t('word.colon')}
            <At at={override.expiresAt} />)
          </span>
        )}
      </p>
      <OverrideLayers override={override as OverrideResponse} />
    </>
  )
}

export function OverrideEditor() {
  const { override, kind } = useOwn().response
  const editing = useOverride()
  const { stage, set } = editing
  const review = 'review' in stage ? stage.review : null
  const problems = 'problems' in stage ? stage.problems : NO_PROBLEMS
  /** The version that was shown when the removal was requested; `null` while no question is open. */
  const [removing, setRemoving] = useState<Seen | null>(null)
  return (
    <Panel title={t('override.title')}>
      <OverrideInForce override={override} kind={kind} />
      <Changing label={t('override.title')}>
        <Form
          {...{ editing, problems }}
          isBusy={stage.at === 'sent' && review === null}
          onRemove={() => setRemoving(set)}
        />
        {problems[''] !== undefined && <Note tone="bad">{t(problems[''])}</Note>}
        {review && (
          <OverrideReview
            {...review}
            busy={stage.at === 'sent'}
            onSave={() => editing.save(review)}
            onBack={editing.leaveReview}
          />
        )}
      </Changing>
      <Outcome editing={editing} />
      {removing && (
        <Removal onConfirm={(reason) => editing.remove(reason, removing)} onClose={() => setRemoving(null)} />
      )}
    </Panel>
  )
}

type EditingOverride = ReturnType<typeof useOverride>

const NO_PROBLEMS: Problems = {}
const NOTHING: Readonly<Record<string, number>> = {}

interface FormProps {
  readonly editing: EditingOverride
  readonly problems: Problems
  readonly isBusy: boolean
  readonly onRemove: () => void
}

function Form({ editing, problems, isBusy, onRemove }: FormProps) {
  const { response } = useOwn()
  const quota = useQuota()
  const { form, draft, stage, set, edit } = editing
  const isLead = useLed() !== null
  const above = isLead ? aboveShare(form, response) : NOTHING
  const expiry = endOf(form)
  const error = 'error' in stage ? stage.error : null
  const fields = fieldProblems(error)
  const ref = useFocusWrong(problems, error)
  const problemOf = (field: string) => {
    if (above[field] !== undefined) return t('override.aboveShare', { most: number(above[field]) })
    return problems[field] === undefined ? fields[field] : t(problems[field])
  }
  function review(event: FormEvent<HTMLFormElement>): void {
    event.preventDefault()
    const wrong = event.currentTarget.querySelector<HTMLElement>('[aria-invalid="true"]')
    if (Object.keys(above).length === 0) editing.review()
    else wrong?.focus()
  }
  return (
    <form ref={ref} onSubmit={review} noValidate>
      <LimitFields form={form} edit={edit} problemOf={problemOf} />
      <ForOperators>
        <TextInput
          label={t('override.factor')}
          description={t(`${response.kind}s.override.factorText`)}
          inputMode="decimal"
          {...bound(form.factor, (factor) => edit({ factor }), problemOf('factor'))}
        />
        {(form.periodDay !== '' || hasMonths(quota)) && (
          <TextInput
            label={t('override.periodDay')}
            description={t(`${response.kind}s.override.periodDayText`)}
            inputMode="numeric"
            {...bound(form.periodDay, (periodDay) => edit({ periodDay }), problemOf('periodDay'))}
          />
        )}
        {response.kind === 'user' && <UserFields form={form} edit={edit} error={problemOf('plan')} />}
      </ForOperators>
      <ExpiryField
        label={t('override.expiry')}
        value={expiry}
        keep={expiry.kind === 'keep' ? expiry.at : set.until}
        error={problemOf('expiresAt')}
        onChange={(expiry) => edit({ expiry })}
      />
      <TextInput
        label={t('word.reason')}
        description={t('word.reasonHelp')}
        required
        maxLength={500}
        {...bound(form.reason, (reason) => edit({ reason }), problemOf('reason'))}
      />
      <div className="actions">
        <Button type="submit" loading={isBusy} disabled={draft === null}>
          {t('override.review')}
        </Button>
        <Discard disabled={draft === null || stage.at === 'sent'} onDiscard={editing.discard} />
        <Plain disabled={response.override === null} onClick={onRemove}>
          {t('override.remove')}
        </Plain>
        <span role="status">{draft !== null && t('override.edited')}</span>
      </div>
    </form>
  )
}

function hasMonths(quota: QuotaResponse | null): boolean {
  return quota?.windowLengths.some(({ calendar }) => calendar?.unit === 'month') ?? false
}

/** The result of the last change, or what happened to the override meanwhile. */
function Outcome({ editing: { draft, stage, isOver } }: Pick<FormProps, 'editing'>) {
  const { response, etag } = useOwn()
  const { override, kind, id } = response
  const done = stage.at === 'idle' ? stage.done : null
  const error = 'error' in stage ? stage.error : null
  return (
    <>
      {done === 'override.saved' && <Saved until={override?.expiresAt ?? null} />}
      {done !== null && done !== 'override.saved' && <Note tone="good">{t(done)}</Note>}
      {isOver && draft?.until && (
        <Note tone="warn" live title={t('override.overTitle')}>
          {t('override.overText', { time: time(draft.until) })}
        </Note>
      )}
      {stage.at === 'overtaken' ? (
        !isOver && <Conflict key={etag} what={NAMES[kind]} subject={id} />
      ) : (
        <Failed error={error} />
      )}
    </>
  )
}

/** The question before an override is removed. */
function Removal(buttons: Pick<ConfirmProps, 'onConfirm' | 'onClose'>) {
  const { response } = useOwn()
  const { override, kind, id } = response
  return (
    <Confirm title={t('override.removeTitle', { name: visible(id) })} action={t('override.remove')} danger {...buttons}>
      <OverrideLines from={flatOf(override)} to={null} of={response} without={['expiresAt', 'reason']} />
      <p>{t(`${kind}s.override.removeText`)}</p>
      <EndNotes override={override} body={null} />
      <UsedUpNotes body={null} response={response} />
    </Confirm>
  )
}

interface UserFieldsProps extends Pick<EditingOverride, 'form' | 'edit'> {
  /** What is wrong with the plan. */
  readonly error: string | undefined
}

/** Fields that only the override of a user has. */
function UserFields({ form, edit, error }: UserFieldsProps) {
  const plans = Object.keys(useQuota()?.effective.plans ?? {})
  return (
    <>
      {(plans.length > 0 || form.plan !== '') && (
        <Choice
          {...{ label: t('override.plan'), description: t('override.planText') }}
          {...{ none: t('override.planOfCredential'), value: form.plan, values: plans, error }}
          onChoose={(plan) => edit({ plan })}
        />
      )}
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
    </>
  )
}

interface LimitFieldsProps extends Pick<EditingOverride, 'form' | 'edit'> {
  readonly problemOf: (field: string) => string | undefined
}

function LimitFields({ form, edit, problemOf }: LimitFieldsProps) {
  const { response } = useOwn()
  const isLead = useLed() !== null
  return (
    <fieldset className="limits">
      <legend>{t(`${response.kind}s.override.limits`)}</legend>
      <p className="muted">{t(isLead ? 'users.override.shareText' : `${response.kind}s.override.limitsText`)}</p>
      {Object.entries(response.windows).map(([category, windows]) => (
        <fieldset key={category} className="row">
          <legend>{category}</legend>
          {windows
            .filter(({ scope }) => scope === SCOPE_OF[response.kind])
            .map(({ window, limit }) => {
              const field = `${category}.${window}`
              const overridden = response.override?.limits[category]?.[window] !== undefined
              return (
                <TextInput
                  key={window}
                  label={windowName(window)}
                  placeholder={
                    overridden || limit === null ? t('plans.default') : `${t('plans.default')} ${number(limit)}`
                  }
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
