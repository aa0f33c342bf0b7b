import { useEffect, useRef, useState } from 'react'
import type {
  PreviewResponse,
  QuotaChangedResponse,
  QuotaPatch,
  QuotaResponse,
  SettingsInForceResponse,
  UndoneResponse,
  UnfollowedResponse,
} from '../../../contract/api.ts'
import { ApiError, call, isOutcomeUnknown, PREVIEW, serverNow } from '../../api/client.ts'
import type { Polled } from '../../api/use-poll.ts'
import type { Problems } from '../../i18n/en.ts'
import { NO_TERMS, type Terms, termsBodyOf } from '../../logic/change-terms.ts'
import { type Draft, editsSince, patchOf, stillEdits } from '../../logic/settings.ts'
import { useKept } from '../../ui/kept-state.tsx'

/** A preview and the edits from which it was made: exactly the change that can be applied. */
export interface Previewed {
  readonly quota: SettingsInForceResponse
  readonly etag: string | null
  readonly draft: Draft
  readonly patch: QuotaPatch
  readonly response: PreviewResponse
  /** When it was counted, by the gateway's clock. */
  readonly at: Date
}

export interface SettingsProps extends Pick<Polled<QuotaResponse>, 'etag' | 'reload' | 'take'> {
  readonly quota: SettingsInForceResponse
  /** Whether the store is out, and refuses changes. */
  readonly out: boolean
}

/** A change that was made, or that is scheduled. */
export interface Applied {
  readonly message: 'quotas.applied' | 'quotas.made' | 'quotas.scheduled' | 'quotas.undone'
  readonly version: number
  /** When it will be made, in ISO 8601. */
  readonly at?: string
  /** Its values that nobody follows. Default none. */
  readonly unfollowed?: readonly UnfollowedResponse[]
}

const NO_EDITS: Draft = {}
/** Each preview looks at every user, and previews are counted one after the other. */
const PREVIEW_MS = 120_000

interface Work {
  readonly what: 'preview' | 'apply'
}

export type SettingsEditing = ReturnType<typeof useSettings>

/** The state of the settings form: edits, then their preview, and only then the change itself. */
export function useSettings({ quota, etag, reload, take }: Omit<SettingsProps, 'out'>) {
  // Edits survive visits of other pages, because a preview names users that somebody may want to look at before the change.
  const [draft, setDraft] = useKept<Draft>('quotas', NO_EDITS)
  const [terms, setTerms] = useKept<Terms>('terms of the quotas', NO_TERMS)
  const [problems, setProblems] = useState<Problems>({})
  const [termProblems, setTermProblems] = useState<Problems>({})
  const [error, setError] = useState<Error | null>(null)
  const [previewed, setPreviewed] = useState<Previewed | null>(null)
  const [applied, setApplied] = useState<Applied | null>(null)
  /** The edits that were last sent. */
  const sent = useRef(NO_EDITS)
  const { work, attempt } = useAttempt(setError, () => setPreviewed(null), reload)
  const previewing = useRef<AbortController | null>(null)

  // biome-ignore lint/correctness/useExhaustiveDependencies: only values in force can make an edit superfluous
  useEffect(() => setDraft((now) => stillEdits(now, quota)), [quota])

  // The response to the sent edits was lost. Until they are in force they may still be made, so the message stays.
  useEffect(() => {
    if (!isOutcomeUnknown(error) || !isMade(sent.current, quota)) return
    setError(null)
    setApplied({ message: 'quotas.made', version: quota.version })
  }, [quota, error])

  function change(next: (now: Draft) => Draft): void {
    // Otherwise a preview of earlier edits would replace these, and could be applied.
    previewing.current?.abort()
    setDraft(next)
    setPreviewed(null)
    setApplied(null)
    setError(null)
    setProblems({})
  }

  function changeTerms(part: Partial<Terms>): void {
    setTerms((now) => ({ ...now, ...part }))
    setTermProblems({})
  }

  function preview(): void {
    const { patch, problems } = patchOf(draft)
    setProblems(problems)
    setApplied(null)
    if (patch === null) return
    previewing.current = new AbortController()
    const { signal } = previewing.current
    const of = { quota, etag, draft, patch }
    void attempt({ what: 'preview' }, async () => setPreviewed(await previewOf(of, signal)), signal)
  }

  function apply(of: Previewed): void {
    const { body, problems } = termsBodyOf(terms, serverNow())
    setTermProblems(problems)
    if (Object.keys(problems).length > 0) return
    sent.current = of.draft
    void attempt({ what: 'apply' }, async () => {
      const response = await call<QuotaChangedResponse>('PATCH', '/api/quota', {
        body: { ...of.patch, ...body },
        ifMatch: of.etag,
      })
      take(response)
      change((now) => editsSince(now, of.draft))
      setTerms(() => NO_TERMS)
      setApplied(appliedAs(response.data, body.from))
    })
  }

  function undo({ version }: Applied): void {
    void attempt({ what: 'apply' }, async () => {
      await call<UndoneResponse>('POST', `/api/audit/${version}/undo`, { body: {} })
      setApplied({ message: 'quotas.undone', version })
      reload()
    })
  }

  return {
    ...{ draft, terms, problems, termProblems, error, previewed, applied },
    work: work?.what ?? null,
    change,
    changeTerms,
    preview,
    apply,
    undo,
    cancelPreview: () => previewing.current?.abort(),
    leavePreview: () => setPreviewed(null),
    closeApplied: () => setApplied(null),
    discard: () => {
      change(() => NO_EDITS)
      setTerms(() => NO_TERMS)
      setTermProblems({})
    },
  }
}

async function previewOf(of: Omit<Previewed, 'response' | 'at'>, signal: AbortSignal): Promise<Previewed> {
  const options = { body: of.patch, signal, patienceMs: PREVIEW_MS }
  const { data } = await call<PreviewResponse>('POST', PREVIEW, options)
  return { ...of, response: data, at: new Date(serverNow()) }
}

function isMade(sent: Draft, quota: SettingsInForceResponse): boolean {
  return Object.keys(stillEdits(sent, quota)).length === 0
}

/** @param from when it will be made, if not now */
function appliedAs({ version, unfollowed = [] }: QuotaChangedResponse, from: string | null | undefined): Applied {
  return from == null
    ? { message: 'quotas.applied', version, unfollowed }
    : { message: 'quotas.scheduled', version, at: from, unfollowed }
}

/** Makes requests and handles their errors. `work` is the latest request under way; `null` if there is none. */
function useAttempt(setError: (error: Error | null) => void, leavePreview: () => void, reload: () => void) {
  const [work, setWork] = useState<Work | null>(null)

  async function attempt(mine: Work, todo: () => Promise<void>, signal?: AbortSignal): Promise<void> {
    setWork(mine)
    setError(null)
    try {
      await todo()
    } catch (caught) {
      if (signal?.aborted) return
      setError(caught as Error)
      const unknown = isOutcomeUnknown(caught)
      if (unknown || (caught instanceof ApiError && caught.status !== 401)) leavePreview()
      if (unknown || (caught instanceof ApiError && caught.status === 412)) reload()
    } finally {
      setWork((now) => (now === mine ? null : now))
    }
  }

  return { work, attempt }
}
