import { Loader } from '@mantine/core'
import { useEffect, useRef, useState } from 'react'
import { useSession } from './api/session.tsx'
import { type Texts, useTexts } from './i18n/text.tsx'
import { type Place, placeOf } from './logic/location.ts'
import { visible } from './logic/visible.ts'
import { AuditPage } from './pages/audit.tsx'
import { NowPage } from './pages/now.tsx'
import { QuotasPage } from './pages/quotas/page.tsx'
import { RoutesPage } from './pages/routes.tsx'
import { SignIn } from './pages/sign-in.tsx'
import { TokensPage } from './pages/tokens.tsx'
import { UserPage } from './pages/users/user.tsx'
import { UsersPage } from './pages/users/users.tsx'
import { DIALOGS } from './parts/confirm.tsx'
import { Guarded } from './parts/guarded.tsx'
import { Keeping } from './parts/keeping.tsx'
import { LostBanner, Shell } from './parts/shell.tsx'

export function App() {
  const { state, who } = useSession()
  const { t } = useTexts()
  const place = usePlace()
  const title = state === 'out' ? t('signIn.title') : titleOf(place, t)
  useEffect(() => {
    document.title = `${title} · Tollgate`
  }, [title])
  if (state === 'asking') {
    return (
      <main>
        <LostBanner />
        <Loader className="centre" aria-label={t('app.loading')} />
      </main>
    )
  }
  // While somebody signs in again the page waits behind, with what was typed.
  return (
    <>
      {state === 'out' && <SignIn again={who !== null} />}
      {who !== null && (
        <div hidden={state === 'out'}>
          <Keeping key={who.name}>
            <Shell page={place.page}>
              <Guarded key={place.page}>
                <PageAt place={place} />
              </Guarded>
            </Shell>
          </Keeping>
          <div id={DIALOGS} />
        </div>
      )}
    </>
  )
}

function titleOf({ page, rest }: Place, t: Texts['t']): string {
  return rest === null ? t(`page.${page}`) : visible(rest)
}

function PageAt({ place: { page, rest } }: { readonly place: Place }) {
  switch (page) {
    case 'now':
      return <NowPage />
    case 'quotas':
      return <QuotasPage />
    case 'users':
      return rest === null ? <UsersPage /> : <UserPage key={rest} user={rest} />
    case 'tokens':
      return <TokensPage />
    case 'routes':
      return <RoutesPage />
    case 'audit':
      return <AuditPage />
  }
}

/** The place that the address names. A new one takes the focus to its heading, as the load of a page would. */
function usePlace(): Place {
  const [hash, setHash] = useState(location.hash)
  const first = useRef(true)
  const place = placeOf(hash)
  useEffect(() => {
    const follow = () => setHash(location.hash)
    window.addEventListener('hashchange', follow)
    return () => window.removeEventListener('hashchange', follow)
  }, [])
  // biome-ignore lint/correctness/useExhaustiveDependencies: only another place moves the focus
  useEffect(() => {
    if (!first.current) document.querySelector<HTMLElement>('main h1')?.focus()
    first.current = false
    window.scrollTo(0, 0)
  }, [hash])
  return place
}
