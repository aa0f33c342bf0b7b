import { Button } from '@mantine/core'
import { type FormEvent, useEffect, useRef, useState } from 'react'
import type { PreviewResponse, QuotaResponse, SettingsInForceResponse } from '../../../admin/api.ts'
import { ApiError, call, isOutcomeUnknown, PREVIEW, serverNow } from '../../api/client.ts'
import { useMayChange } from '../../api/session.tsx'
import type { Polled } from '../../api/use-poll.ts'
import { useTexts } from '../../i18n/text.tsx'
import {
  type Draft,
  type Edit,
  editsSince,
  type Problems,
  patchOf,
  stillEdits,
  withEdit,
  withoutEdit,
} from '../../logic/settings.ts'
import { Conflict } from '../../ui/conflict.tsx'
import { Discard } from '../../ui/discard.tsx'
import { fieldProblems, messageOf } from '../../ui/failure.tsx'
import { useFocusBack } from '../../ui/focus-back.ts'
import { useFocusWrong } from '../../ui/focus-wrong.ts'
import { useKept } from '../../ui/kept-state.tsx'
import { Note } from '../../ui/note.tsx'
import { Panel } from '../../ui/panel.tsx'
import { EditContext } from './edit.tsx'
import { CustomLimits, Limits } from './limits.tsx'
import { Preview } from './preview.tsx'
import { Switches } from './switches.tsx'

/** A preview and what it was made of: the very change that can be applied. */
interface Previewed {
  readonly quota: SettingsInForceResponse
  readonly etag: string | null
  readonly draft: Draft
  readonly response: PreviewResponse
  /** When it was counted, by the clock of the gateway. */
  readonly at: Date
}

interface SettingsProps extends Pick<Polled<QuotaResponse>, 'etag' | 'reload' | 'take'> {
  readonly quota: SettingsInForceResponse
  /** The store is, and refuses changes. */
  readonly out: boolean
}

/** A change that was made. */
interface Applied {
  readonly message: 'quotas.applied' | 'quotas.made'
  readonly version: number
}

const NO_EDITS: Draft = {}
/** Every user is looked at, and one preview after the other is counted. */
const PREVIEW_MS = 120_000

interface Work {
  readonly what: 'preview' | 'apply'
}

/** Edits, their preview, and only then the change itself. */
export function Settings({ quota, etag, out, reload, take }: SettingsProps) {
  const { t } = useTexts()
  const may = useMayChange()
  // A preview names users, whose pages one looks at before the change is made.
  const [draft, setDraft] = useKept<Draft>('quotas', NO_EDITS)
  const [problems, setProblems] = useState<Problems>({})
  const [error, setError] = useState<Error | null>(null)
  const [previewed, setPreviewed] = useState<Previewed | null>(null)
  const [applied, setApplied] = useState<Applied | null>(null)
  /** What was sent to be applied, the last time. */
  const sent = useRef(NO_EDITS)
  /** The latest of what is under way. */
  const [work, setWork] = useState<Work | null>(null)
  const busy = work !== null
  const previewing = useRef<AbortController | null>(null)
  const edits = Object.keys(draft).length

  // biome-ignore lint/correctness/useExhaustiveDependencies: only what is in force makes an edit none
  useEffect(() => setDraft((now) => stillEdits(now, quota)), [quota])

  // What was sent and never answered. Where it is not in force it may be made yet: that stays said.
  useEffect(() => {
    if (!isOutcomeUnknown(error) || Object.keys(stillEdits(sent.current, quota)).length > 0) return
    setError(null)
    setApplied({ message: 'quotas.made', version: quota.version })
  }, [quota, error])

  function change(next: (now: Draft) => Draft): void {
    // Else a preview of the edits before would come over these, and could be applied.
    previewing.current?.abort()
    setDraft(next)
    setPreviewed(null)
    setApplied(null)
    setError(null)
    setProblems({})
  }

  async function attempt(mine: Work, todo: () => Promise<void>, signal?: AbortSignal): Promise<void> {
    setWork(mine)
    setError(null)
    try {
      await todo()
    } catch (caught) {
      if (signal?.aborted) return
      setError(caught as Error)
      const unknown = isOutcomeUnknown(caught)
      if (unknown || (caught instanceof ApiError && caught.status !== 401)) setPreviewed(null)
      if (unknown || (caught instanceof ApiError && caught.status === 412)) reload()
    } finally {
      setWork((now) => (now === mine ? null : now))
    }
  }

  function preview(event: FormEvent): void {
    event.preventDefault()
    const { patch, problems } = patchOf(draft)
    setProblems(problems)
    setApplied(null)
    if (patch === null) return
    const stop = new AbortController()
    previewing.current = stop
    const { signal } = stop
    void attempt(
      { what: 'preview' },
      async () => {
        const { data } = await call<PreviewResponse>('POST', PREVIEW, { body: patch, signal, patienceMs: PREVIEW_MS })
        setPreviewed({ quota, etag, draft, response: data, at: new Date(serverNow()) })
      },
      signal,
    )
  }

  function apply(of: Previewed, reason: string): void {
    const { patch } = patchOf(of.draft)
    sent.current = of.draft
    void attempt({ what: 'apply' }, async () => {
      const body = reason === '' ? patch : { ...patch, reason }
      const response = await call<QuotaResponse>('PATCH', '/api/quota', { body, ifMatch: of.etag })
      take(response)
      change((now) => editsSince(now, of.draft))
      setApplied({ message: 'quotas.applied', version: response.data.version })
    })
  }

  function said(): string {
    if (work?.what === 'preview') return t('preview.counting')
    if (out) return t('outage.edits')
    return edits === 0 ? t('quotas.noEdits') : t('quotas.edits', { count: edits })
  }

  const fields = fieldProblems(error)
  const form = useFocusWrong(problems, error)
  return (
    <Panel title={t('quotas.settings')} text={t('quotas.fileHint', { count: quota.changed.length })}>
      {!may && <p className="viewer">{t('quotas.viewer')}</p>}
      <EditContext
        value={{
          quota,
          draft,
          problemOf: (path) => (problems[path] === undefined ? fields[path] : t(problems[path])),
          edit: (path: string, edit: Edit) => change((now) => withEdit(now, quota, path, edit)),
          undo: (path: string) => change((now) => withoutEdit(now, path)),
        }}
      >
        <form ref={form} onSubmit={preview} noValidate>
          <Switches />
          <Limits table="baselines" />
          <CustomLimits />
          <div className="actions">
            <Button type="submit" loading={busy && previewed === null} disabled={edits === 0}>
              {t('quotas.preview')}
            </Button>
            <Discard disabled={edits === 0} onDiscard={() => change(() => ({}))} />
            <Button
              variant="default"
              disabled={quota.changed.length === 0}
              onClick={() => change(() => Object.fromEntries(quota.changed.map((path) => [path, null])))}
            >
              {t('quotas.allToFile')}
            </Button>
            {work?.what === 'preview' && <Cancel onClick={() => previewing.current?.abort()} />}
            <span role="status">{said()}</span>
          </div>
        </form>
      </EditContext>
      {applied !== null && (
        <Note tone="good" live>
          {t(applied.message, { version: applied.version })}
        </Note>
      )}
      {error instanceof ApiError && error.status === 412 ? (
        <Conflict what="settings" subject={null} />
      ) : (
        error && <Note tone="bad">{messageOf(error, t)}</Note>
      )}
      {previewed && (
        <Preview
          {...previewed}
          busy={busy}
          reasonProblem={fields.reason}
          onApply={(reason) => apply(previewed, reason)}
          onBack={() => setPreviewed(null)}
        />
      )}
    </Panel>
  )
}

/** Stops what is under way. */
function Cancel({ onClick }: { readonly onClick: () => void }) {
  const { t } = useTexts()
  const ref = useRef<HTMLButtonElement>(null)
  useFocusBack(() => ref.current?.form?.querySelector('[type="submit"]'))
  return (
    <Button ref={ref} variant="default" onClick={onClick}>
      {t('word.cancel')}
    </Button>
  )
}
