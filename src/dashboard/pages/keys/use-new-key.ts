import { useState } from 'react'
import type { TokensResponse } from '../../../contract/api.ts'
import { call, isOutcomeUnknown, serverNow } from '../../api/client.ts'
import { type Polled, usePoll } from '../../api/use-poll.ts'
import { t } from '../../i18n/text.ts'
import type { Facts } from '../../logic/key-facts.ts'
import { type Expiry, expiryOf } from '../../logic/override.ts'
import { useForm } from '../../ui/form.tsx'
import { useKept } from '../../ui/kept-state.tsx'
import type { Made } from './made-key.tsx'

const EVERY_MS = 10_000

/** All access keys, newest first. */
export function useKeys(): Polled<TokensResponse> {
  return usePoll<TokensResponse>('/api/tokens', EVERY_MS)
}

interface Draft {
  readonly user: string
  readonly name: string
  readonly expiry: Expiry
  /** `null` until somebody chooses. Until then `factsOf` gives the organisation, and likewise the plan. */
  readonly organisation: string | null
  readonly plan: string | null
  /** Whether to make a link instead of showing the key. */
  readonly byLink: boolean
}

const EMPTY: Draft = { user: '', name: '', expiry: { kind: 'never' }, organisation: null, plan: null, byLink: false }

/**
 * The draft of an access key, and the result of sending it. The draft is kept while somebody looks at other pages.
 * @param factsOf what a new key of a user has, unless something else is chosen
 */
export function useNewKey(factsOf: (user: string) => Facts) {
  const { read, reload } = useKeys()
  const [draft, setDraft] = useKept('new token', EMPTY)
  // Never stored, because the secret is shown only once.
  const [made, setMade] = useState<Made | null>(null)
  const user = draft.user.trim()
  const name = draft.name.trim()
  const known = factsOf(user)
  const chosen = { organisation: draft.organisation ?? known.organisation, plan: draft.plan ?? known.plan }
  const form = useForm({
    check() {
      setMade(null)
      return {
        user: user === '' && t('problem.required'),
        name: name === '' && t('problem.required'),
        expiresAt: expiryOf(draft.expiry, serverNow()) === undefined && t('problem.expiry'),
      }
    },
    async send() {
      const expiresAt = expiryOf(draft.expiry, serverNow())
      const body = { user, name, expiresAt, ...given(chosen), ...(draft.byLink && { handover: true }) }
      setMade((await call<Made>('POST', '/api/tokens', { body })).data)
      // Text that was typed meanwhile belongs to the next key.
      setDraft((now) => (now === draft ? EMPTY : now))
      await read()
    },
    onError: (error) => isOutcomeUnknown(error) && reload(),
  })
  return {
    ...{ draft, chosen, made, isEmpty: draft === EMPTY, ...form },
    edit: (part: Partial<Draft>) => setDraft((now) => ({ ...now, ...part })),
    discard(): void {
      setDraft(() => EMPTY)
      form.clear()
    },
  }
}

export type NewKeyForm = ReturnType<typeof useNewKey>

/** The facts that are not empty. */
function given({ organisation = '', plan = '' }: Facts): Facts {
  return { ...(organisation.trim() !== '' && { organisation: organisation.trim() }), ...(plan !== '' && { plan }) }
}
