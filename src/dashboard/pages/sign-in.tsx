import { Button, PasswordInput } from '@mantine/core'
import { type FormEvent, useState } from 'react'
import { useSession } from '../api/session.tsx'
import { useTexts } from '../i18n/text.tsx'
import icon from '../icon.svg'
import { messageOf } from '../parts/failure.tsx'
import { LostBanner, Preferences } from '../parts/shell.tsx'

export function SignIn({ again }: { readonly again: boolean }) {
  const { t } = useTexts()
  const { signIn } = useSession()
  const [token, setToken] = useState('')
  const [error, setError] = useState<string | null>(null)
  const [busy, setBusy] = useState(false)

  async function submit(event: FormEvent): Promise<void> {
    event.preventDefault()
    if (token.trim() === '') return setError(t('signIn.empty'))
    setBusy(true)
    setError(null)
    try {
      await signIn(token.trim())
      setToken('')
    } catch (caught) {
      setError(messageOf(caught as Error, t))
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
          <PasswordInput
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
