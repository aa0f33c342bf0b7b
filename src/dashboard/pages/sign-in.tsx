import { Button, PasswordInput } from '@mantine/core'
import { type FormEvent, useRef, useState } from 'react'
import { ApiError } from '../api/client.ts'
import { useSession } from '../api/session.tsx'
import { useTexts } from '../i18n/text.tsx'
import icon from '../icon.svg'
import { messageOf } from '../ui/failure.tsx'
import { Note } from '../ui/note.tsx'
import { LostBanner, Preferences } from '../ui/shell.tsx'

export function SignIn({ again }: { readonly again: boolean }) {
  const { t } = useTexts()
  const { signIn, linkError } = useSession()
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
    <div className="sign-in">
      <header className="top-end">
        <Preferences />
      </header>
      <main>
        <LostBanner />
        <form className="panel" onSubmit={submit} noValidate>
          <h1>
            <img src={icon} alt="" width="32" height="32" /> Tollgate
          </h1>
          <h2>{t('signIn.title')}</h2>
          <p className="muted">{again ? t('signIn.again') : t('signIn.text')}</p>
          {linkError !== null && (
            <Note tone="bad">{isWrong(linkError) ? t('signIn.linkWrong') : messageOf(linkError, t)}</Note>
          )}
          <PasswordInput
            ref={field}
            label={t('signIn.token')}
            value={token}
            onChange={(event) => setToken(event.currentTarget.value)}
            error={error}
            errorProps={{ role: 'alert' }}
            aria-invalid={error !== null}
            visibilityToggleButtonProps={{ 'aria-label': t('signIn.show') }}
            autoComplete="off"
            autoFocus
          />
          <Button type="submit" loading={busy}>
            {t('signIn.submit')}
          </Button>
        </form>
      </main>
    </div>
  )
}

function isWrong(error: unknown): boolean {
  return error instanceof ApiError && error.status === 401
}
