import { Loader } from '@mantine/core'
import { type RefObject, useEffect, useRef } from 'react'
import { type Session, useSession } from './api/session.tsx'
import { type Texts, useTexts } from './i18n/text.tsx'
import { hashOf, type Place } from './logic/location.ts'
import { visible } from './logic/visible.ts'
import { AuditPage } from './pages/audit/page.tsx'
import { ErrorsPage } from './pages/errors/page.tsx'
import { KeysPage } from './pages/keys/keys.tsx'
import { LimitsPage } from './pages/limits/page.tsx'
import { OrganisationPage } from './pages/organisations/organisation.tsx'
import { OverviewPage } from './pages/overview/overview.tsx'
import { RefusalsPage } from './pages/refusals/refusals.tsx'
import { ReplicasPage } from './pages/replicas/replicas.tsx'
import { RoutesPage } from './pages/routes/routes.tsx'
import { SignIn } from './pages/sign-in.tsx'
import { ListPage } from './pages/users/list.tsx'
import { UserPage } from './pages/users/user.tsx'
import { usePlace } from './ui/address.tsx'
import { DIALOGS } from './ui/confirm.tsx'
import { Guarded } from './ui/guarded.tsx'
import { Keeping } from './ui/kept-state.tsx'
import { LostBanner, Shell } from './ui/shell.tsx'

export function App() {
  const { state, who } = useSession()
  const { t } = useTexts()
  const place = usePlace()
  useFocusAtPlace(place)
  const title = state === 'out' ? t('signIn.title') : titleOf(place, t)
  const used = useFocusAfterSignIn(state)
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
        // biome-ignore lint/a11y/noStaticElementInteractions: it only sees what in it has the focus
        <div
          hidden={state === 'out'}
          onFocus={({ target }) => {
            used.current = target
          }}
        >
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
    case 'overview':
      return <OverviewPage />
    case 'limits':
      return <LimitsPage />
    case 'errors':
      return <ErrorsPage />
    case 'users':
      return rest === null ? <ListPage key={page} kind={page} /> : <UserPage key={rest} user={rest} />
    case 'organisations':
      return rest === null ? <ListPage key={page} kind={page} /> : <OrganisationPage key={rest} organisation={rest} />
    case 'refusals':
      return <RefusalsPage />
    case 'routes':
      return <RoutesPage />
    case 'keys':
      return <KeysPage />
    case 'replicas':
      return <ReplicasPage />
    case 'audit':
      return <AuditPage />
  }
}

/** A new place takes the focus to its heading, as the load of a page would. What is looked for on it does not. */
function useFocusAtPlace({ page, rest }: Place): void {
  const first = useRef(true)
  const place = hashOf(page, rest)
  // biome-ignore lint/correctness/useExhaustiveDependencies: only another place moves the focus
  useEffect(() => {
    if (!first.current) focusHeading()
    first.current = false
    window.scrollTo(0, 0)
  }, [place])
}

/**
 * After the sign-in the focus goes to what had it before the session was over or, if that is not there or cannot have it, to the
 * heading of the page.
 * @returns where what has the focus is to be kept: what is pressed may lose it by being disabled before the session is known to be over
 */
function useFocusAfterSignIn(state: Session['state']): RefObject<HTMLElement | null> {
  const used = useRef<HTMLElement>(null)
  const wasOut = useRef(false)
  useEffect(() => {
    if (state === 'in' && wasOut.current) {
      used.current?.focus()
      if (document.activeElement === document.body) focusHeading()
    }
    // While a link signs somebody in, nobody is in yet.
    if (state !== 'asking') wasOut.current = state === 'out'
  }, [state])
  return used
}

function focusHeading(): void {
  document.querySelector<HTMLElement>('main h1')?.focus()
}
