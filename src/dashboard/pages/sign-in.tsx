import { Button, PasswordInput } from '@mantine/core'
import { useState } from 'react'
import { ApiError } from '../api/client.ts'
import { useSession } from '../api/session.tsx'
import { t } from '../i18n/text.ts'
import { Failed, messageOf } from '../ui/failure.tsx'
import { bound, useForm } from '../ui/form.tsx'
import { LostBanner } from '../ui/shell.tsx'
import { Note } from '../ui/small.tsx'
import { Alone, AloneTitle } from './alone.tsx'

export function SignIn({ again }: { readonly again: boolean }) {
  const { signIn, provider, linkError } = useSession()
  const [token, setToken] = useState('')
  const { problems, error, form, submitter } = useForm({
    check: () => ({ token: token.trim() === '' && t('signIn.empty') }),
    async send() {
      await signIn(token.trim())
      setToken('')
    },
  })
  const problem = problems.token ?? (isWrong(error) ? t('signIn.wrong') : error && messageOf(error))

  return (
    <Alone>
      <LostBanner />
      <form className="panel" {...form}>
        <AloneTitle title="Tollgate" />
        <h2>{t('signIn.title')}</h2>
        {again && <p className="muted">{t('signIn.again')}</p>}
        {linkError !== null && (
          <Note tone="bad">{isWrong(linkError) ? t('signIn.linkWrong') : messageOf(linkError)}</Note>
        )}
        {provider !== null && <ByProvider provider={provider} again={again} />}
        {!again && <p className="muted">{t('signIn.text')}</p>}
        <PasswordInput
          label={t('signIn.token')}
          {...bound(token, setToken, problem)}
          errorProps={{ role: 'alert' }}
          aria-invalid={problem !== null}
          visibilityToggleButtonProps={{ 'aria-label': t('signIn.show') }}
          autoComplete="off"
          autoFocus={provider === null}
        />
        <Button {...submitter} variant={provider === null ? 'filled' : 'default'}>
          {t('signIn.title')}
        </Button>
      </form>
    </Alone>
  )
}

/** Leaves the page, which is opened anew when the provider sends the browser back. */
function ByProvider({ provider, again }: { readonly provider: string; readonly again: boolean }) {
  const { signInByProvider } = useSession()
  const { error, busy, submit } = useForm({ send: signInByProvider })

  return (
    <>
      <Failed error={error} />
      <Button type="button" onClick={() => submit()} loading={busy} autoFocus mb="md">
        {t('signIn.provider', { provider })}
      </Button>
      {again && <p className="muted">{t('signIn.providerAgain')}</p>}
    </>
  )
}

function isWrong(error: unknown): boolean {
  return error instanceof ApiError && error.response.error === 'unauthorized'
}
