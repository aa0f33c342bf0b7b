import { Button, TextInput } from '@mantine/core'
import { useRef, useState } from 'react'
import { ApiError } from '../../api/client.ts'
import { useMayChange } from '../../api/session.tsx'
import { lengthWords, t, time } from '../../i18n/text.ts'
import { GUARD_TIMES, type Terms } from '../../logic/change-terms.ts'
import { patchOf } from '../../logic/settings.ts'
import { notesOfPatch } from '../../logic/settings-layers.ts'
import { ExpiryField } from '../../ui/expiry.tsx'
import { Failed, fieldProblems } from '../../ui/failure.tsx'
import { Filled } from '../../ui/filled.tsx'
import { useFocusBack } from '../../ui/focus-back.ts'
import { bound, Choice, Discard } from '../../ui/form.tsx'
import { Moment } from '../../ui/moment.tsx'
import { Name, Note, Plain } from '../../ui/small.tsx'
import { Conflict } from '../audit/conflict.tsx'
import { useEditing } from './edit.tsx'
import { UnfollowedValues } from './unfollowed.tsx'
import type { Applied, SettingsEditing } from './use-settings.ts'

interface BarProps {
  readonly editing: SettingsEditing
  /** Whether the store is out, and refuses changes. */
  readonly out: boolean
}

/** The bar at the foot of the window with a change's preview, terms and result. It appears as soon as something is edited. */
export function ChangeBar({ editing, out }: BarProps) {
  const { draft, error, applied } = editing
  const isEdited = Object.keys(draft).length > 0
  if (!isEdited && error === null && applied === null) return null
  return (
    <section className="change-bar" aria-label={t('bar.title')}>
      {applied !== null && <AppliedNote applied={applied} editing={editing} />}
      {error !== null && <ErrorNote error={error} />}
      {isEdited && <Change editing={editing} out={out} />}
    </section>
  )
}

function Change({ editing, out }: BarProps) {
  const may = useMayChange()
  const { draft, work, previewed, error, termProblems, terms } = editing
  const [isOpen, setOpen] = useState(false)
  const fields = fieldProblems(error)
  const problemOf = (path: string) => (termProblems[path] === undefined ? fields[path] : t(termProblems[path]))
  const isShown = isOpen || TERMS.some((path) => problemOf(path) !== undefined)
  const count = Object.keys(draft).length
  const said = () => {
    if (work === 'preview') return t('preview.counting')
    if (out) return t('outage.edits')
    return t('quotas.edits', { count })
  }
  return (
    <>
      <div className="wrap change-line">
        <span className="change-said">
          <span role="status">{said()}</span>{' '}
          {may && previewed === null && work === null && !out && <span className="muted">{t('bar.previewFirst')}</span>}
        </span>
        <Plain
          className="change-more"
          aria-expanded={isShown}
          aria-controls="change-terms"
          onClick={() => setOpen(!isShown)}
        >
          {t('bar.more')}
        </Plain>
        <Button type="submit" variant={previewed === null ? 'filled' : 'default'} loading={work === 'preview'}>
          {t('quotas.preview')}
        </Button>
        {work === 'preview' && <Cancel onClick={editing.cancelPreview} />}
        <Button
          disabled={previewed === null || !may}
          loading={work === 'apply'}
          onClick={() => previewed !== null && editing.apply(previewed)}
        >
          {t('preview.apply')}
        </Button>
        <Discard disabled={work === 'apply'} onDiscard={editing.discard} />
      </div>
      {terms.from === '' && <PatchNotes editing={editing} />}
      <ChangeTerms
        terms={terms}
        isOpen={isShown}
        mayChange={may}
        problemOf={problemOf}
        onChange={editing.changeTerms}
      />
    </>
  )
}

/** The ends and guards of earlier changes that the change removes. */
function PatchNotes({ editing: { draft, terms } }: Pick<BarProps, 'editing'>) {
  const { quota } = useEditing()
  const { patch } = patchOf(draft)
  const { layers = [] } = quota
  if (patch === null || layers.length === 0) return null
  const until = terms.until.kind === 'never' ? null : 'some'
  const notes = notesOfPatch(layers, patch, { until, isGuarded: terms.guard !== '' })
  return notes.map((note) => (
    <p key={`${note.kind} ${note.id}`} className="ends">
      {note.kind === 'guardEnded' ? (
        <Filled text={t('bar.endsGuard')} parts={{ at: <Moment at={note.at} /> }} />
      ) : (
        <Filled text={t('ends.dropped')} parts={{ at: <Moment at={note.at} />, why: <Name of={note.why} /> }} />
      )}
    </p>
  ))
}

const TERMS = ['reason', 'guard', 'guard.for', 'guard.refused', 'from', 'until']

/** A button that stops the preview under way. */
function Cancel({ onClick }: { readonly onClick: () => void }) {
  const ref = useRef<HTMLButtonElement>(null)
  useFocusBack(() => ref.current?.form?.querySelector('[type="submit"]'))
  return (
    <Plain ref={ref} onClick={onClick}>
      {t('word.cancel')}
    </Plain>
  )
}

function AppliedNote({ applied, editing }: { readonly applied: Applied; readonly editing: SettingsEditing }) {
  const may = useMayChange()
  const { message, version, at, unfollowed = [] } = applied
  return (
    <>
      <div className="wrap change-done">
        <Note tone="good">{t(message, { version, time: at === undefined ? '' : time(at) })}</Note>
        {may && message !== 'quotas.undone' && (
          <Plain
            aria-label={t('quotas.undoChange', { version })}
            loading={editing.work === 'apply'}
            onClick={() => editing.undo(applied)}
          >
            {t('undo.button')}
          </Plain>
        )}
        <Plain onClick={editing.closeApplied}>{t('word.close')}</Plain>
      </div>
      <UnfollowedValues values={unfollowed} />
    </>
  )
}

function ErrorNote({ error }: { readonly error: Error }) {
  const { quota } = useEditing()
  const isConflict = error instanceof ApiError && error.status === 412
  return isConflict ? <Conflict what="settings" subject={null} file={quota.file} /> : <Failed error={error} />
}

interface TermsProps {
  readonly terms: Terms
  /** Whether the terms are open in a narrow window. In a wide window they always are. */
  readonly isOpen: boolean
  readonly mayChange: boolean
  /** What is wrong, by the path in the API. */
  readonly problemOf: (path: string) => string | undefined
  readonly onChange: (part: Partial<Terms>) => void
}

/** Reason, time, duration and guard of a change. */
function ChangeTerms({ terms, isOpen, mayChange, problemOf, onChange }: TermsProps) {
  return (
    <fieldset id="change-terms" className="wrap ends change-terms" data-open={isOpen} disabled={!mayChange}>
      <legend className="heard">{t('bar.more')}</legend>
      <TextInput
        label={t('word.reason')}
        maxLength={500}
        {...bound(terms.reason, (reason) => onChange({ reason }), problemOf('reason'))}
      />
      <GuardFields terms={terms} problemOf={problemOf} onChange={onChange} />
      <TextInput
        type="datetime-local"
        label={t('bar.from')}
        {...bound(terms.from, (from) => onChange({ from }), problemOf('from'))}
      />
      <ExpiryField
        label={t('bar.until')}
        never={t('bar.untilNever')}
        value={terms.until}
        keep={null}
        error={problemOf('until')}
        onChange={(until) => onChange({ until })}
      />
    </fieldset>
  )
}

function GuardFields({ terms, problemOf, onChange }: Pick<TermsProps, 'terms' | 'problemOf' | 'onChange'>) {
  return (
    <>
      <Choice
        {...{ label: t('bar.guard'), none: t('bar.guard.none'), value: terms.guard, values: GUARD_TIMES }}
        nameOf={(value) => t('bar.guard.for', { time: lengthWords(value) })}
        onChoose={(guard) => onChange({ guard })}
        error={problemOf('guard') ?? problemOf('guard.for')}
      />
      {terms.guard !== '' && (
        <TextInput
          label={t('bar.refused')}
          inputMode="decimal"
          {...bound(terms.refused, (refused) => onChange({ refused }), problemOf('guard.refused'))}
        />
      )}
    </>
  )
}
