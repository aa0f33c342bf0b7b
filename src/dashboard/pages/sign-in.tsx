import { Button, PasswordInput } from '@mantine/core'
import { type FormEvent, useRef, useState } from 'react'
import { ApiError } from '../api/client.ts'
import { useSession } from '../api/session.tsx'
import { useTexts } from '../i18n/text.tsx'
import { bound } from '../ui/bound.ts'
import { messageOf } from '../ui/failure.tsx'
import { Note } from '../ui/note.tsx'
import { LostBanner } from '../ui/shell.tsx'
import { Alone, AloneTitle } from './alone.tsx'

export function SignIn({ again }: { readonly again: boolean }) {
  const { t } = useTexts()
  const { signIn, provider, linkError } = useSession()
  const [token, setToken] = useState('')
  const [error, setError] = useState<string | null>(null)
  const [busy, setBusy] = useState(false)
  const field = useRef<HTMLInputElement>(null)

  async function submit(event: FormEvent): Promise<void> {
    event.preventDefault()
    if (token.trim() === '') return setError(t('signIn.empty'))
    setBusy(true)
    setError(null)
    try {
      await signIn(token.trim())
      setToken('')
    } catch (caught) {
      setError(isWrong(caught) ? t('signIn.wrong') : messageOf(caught as Error, t))
      // The button that was pressed has lost it while it could not be pressed again.
      field.current?.focus()
    } finally {
      setBusy(false)
    }
  }

  return (
    <Alone>
      <LostBanner />
      <form className="panel" onSubmit={submit} noValidate>
        <AloneTitle title="Tollgate" />
        <h2>{t('signIn.title')}</h2>
        {again && <p className="muted">{t('signIn.again')}</p>}
        {linkError !== null && (
          <Note tone="bad">{isWrong(linkError) ? t('signIn.linkWrong') : messageOf(linkError, t)}</Note>
        )}
        {provider !== null && <ByProvider provider={provider} again={again} />}
        {!again && <p className="muted">{t('signIn.text')}</p>}
        <PasswordInput
          ref={field}
          label={t('signIn.token')}
          {...bound(token, setToken, error)}
          errorProps={{ role: 'alert' }}
          aria-invalid={error !== null}
          visibilityToggleButtonProps={{ 'aria-label': t('signIn.show') }}
          autoComplete="off"
          autoFocus={provider === null}
        />
        <Button type="submit" loading={busy} variant={provider === null ? 'filled' : 'default'}>
          {t('signIn.title')}
        </Button>
      </form>
    </Alone>
  )
}

/** The page is left, and opened anew when the provider has sent the browser back. */
function ByProvider({ provider, again }: { readonly provider: string; readonly again: boolean }) {
  const { t } = useTexts()
  const { signInByProvider } = useSession()
  const [error, setError] = useState<Error | null>(null)
  const [busy, setBusy] = useState(false)

  async function leave(): Promise<void> {
    setBusy(true)
    setError(null)
    try {
      await signInByProvider()
    } catch (caught) {
      setError(caught as Error)
      setBusy(false)
    }
  }

  return (
    <>
      {error !== null && <Note tone="bad">{messageOf(error, t)}</Note>}
      <Button type="button" onClick={leave} loading={busy} autoFocus mb="md">
        {t('signIn.provider', { provider })}
      </Button>
      {again && <p className="muted">{t('signIn.providerAgain')}</p>}
    </>
  )
}

function isWrong(error: unknown): boolean {
  return error instanceof ApiError && error.response.error === 'unauthorized'
}
