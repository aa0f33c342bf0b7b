import { type FormEvent, useState } from 'react'
import type { TokensResponse } from '../../../contract/api.ts'
import { call, isOutcomeUnknown, serverNow } from '../../api/client.ts'
import type { Polled } from '../../api/use-poll.ts'
import { useTexts } from '../../i18n/text.tsx'
import type { Facts } from '../../logic/key-facts.ts'
import { type Expiry, expiryOf } from '../../logic/override.ts'
import { fieldProblems } from '../../ui/failure.tsx'
import { useKept } from '../../ui/kept-state.tsx'
import type { Made } from './made-key.tsx'

/** How the list of keys is read again. */
export type Reading = Pick<Polled<TokensResponse>, 'read' | 'reload'>

interface Draft {
  readonly user: string
  readonly name: string
  readonly expiry: Expiry
  /** `null` as long as nobody chose: then it is that of the user's other keys. So is the plan. */
  readonly organisation: string | null
  readonly plan: string | null
  /** Whether a link is made instead of showing the key. */
  readonly byLink: boolean
}

const EMPTY: Draft = { user: '', name: '', expiry: { kind: 'never' }, organisation: null, plan: null, byLink: false }

interface Options extends Reading {
  /** What a new key of the user has, unless something else is chosen. */
  readonly factsOf: (user: string) => Facts
}

/** What goes into a request. */
type NewKeyBody = {
  readonly user: string
  readonly name: string
  readonly expiresAt: string | null | undefined
  readonly handover?: true
} & Facts

/** The draft of an access key, and what became of it. The draft is kept while one looks at other pages. */
export function useNewKey({ read, reload, factsOf }: Options) {
  const { t } = useTexts()
  const [draft, setDraft] = useKept('new token', EMPTY)
  const [problems, setProblems] = useState<Readonly<Record<string, string>>>({})
  const [error, setError] = useState<Error | null>(null)
  // Never kept: its secret is shown this once.
  const [made, setMade] = useState<Made | null>(null)
  const [busy, setBusy] = useState(false)

  function discard(): void {
    setDraft(() => EMPTY)
    setProblems({})
    setError(null)
  }

  async function send(body: NewKeyBody): Promise<void> {
    setBusy(true)
    try {
      setMade((await call<Made>('POST', '/api/tokens', { body })).data)
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

  const known = factsOf(draft.user.trim())
  const chosen = { organisation: draft.organisation ?? known.organisation, plan: draft.plan ?? known.plan }

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
    if (Object.keys(found).length === 0)
      await send({ user, name, expiresAt, ...given(chosen), ...(draft.byLink && { handover: true }) })
  }

  return {
    draft,
    chosen,
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

export type NewKeyForm = ReturnType<typeof useNewKey>

/** Those that are not empty. */
function given({ organisation = '', plan = '' }: Facts): Facts {
  return { ...(organisation.trim() !== '' && { organisation: organisation.trim() }), ...(plan !== '' && { plan }) }
}
