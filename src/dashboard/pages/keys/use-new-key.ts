import { type FormEvent, useState } from 'react'
import type { NewTokenResponse, TokensResponse } from '../../../admin/api.ts'
import { call, isOutcomeUnknown, serverNow } from '../../api/client.ts'
import type { Polled } from '../../api/use-poll.ts'
import { useTexts } from '../../i18n/text.tsx'
import { type Expiry, expiryOf } from '../../logic/override.ts'
import { fieldProblems } from '../../ui/failure.tsx'
import { useKept } from '../../ui/kept-state.tsx'

/** How the list of keys is read again. */
export type Reading = Pick<Polled<TokensResponse>, 'read' | 'reload'>

interface Draft {
  readonly user: string
  readonly name: string
  readonly expiry: Expiry
}

const EMPTY: Draft = { user: '', name: '', expiry: { kind: 'never' } }

/** The draft of an access key, and what became of it. The draft is kept while one looks at other pages. */
export function useNewKey({ read, reload }: Reading) {
  const { t } = useTexts()
  const [draft, setDraft] = useKept('new token', EMPTY)
  const [problems, setProblems] = useState<Readonly<Record<string, string>>>({})
  const [error, setError] = useState<Error | null>(null)
  // Never kept: its secret is shown this once.
  const [made, setMade] = useState<NewTokenResponse | null>(null)
  const [busy, setBusy] = useState(false)

  function discard(): void {
    setDraft(() => EMPTY)
    setProblems({})
    setError(null)
  }

  async function send(body: { user: string; name: string; expiresAt: string | null | undefined }): Promise<void> {
    setBusy(true)
    try {
      setMade((await call<NewTokenResponse>('POST', '/api/tokens', { body })).data)
      // What was typed meanwhile is for another one.
      setDraft((now) => (now === draft ? EMPTY : now))
      await read()
    } catch (caught) {
      setError(caught as Error)
      setProblems(fieldProblems(caught as Error))
      if (isOutcomeUnknown(caught)) reload()
    } finally {
      setBusy(false)
    }
  }

  async function make(event: FormEvent): Promise<void> {
    event.preventDefault()
    setMade(null)
    setError(null)
    const user = draft.user.trim()
    const name = draft.name.trim()
    const expiresAt = expiryOf(draft.expiry, serverNow())
    const found = {
      ...(user === '' && { user: t('problem.required') }),
      ...(name === '' && { name: t('problem.required') }),
      ...(expiresAt === undefined && { expiresAt: t('problem.expiry') }),
    }
    setProblems(found)
    if (Object.keys(found).length === 0) await send({ user, name, expiresAt })
  }

  return {
    draft,
    isEmpty: draft === EMPTY,
    edit: (part: Partial<Draft>) => setDraft((now) => ({ ...now, ...part })),
    problems,
    error,
    made,
    busy,
    make,
    discard,
  }
}
