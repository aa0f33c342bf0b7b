import { Loader, Skeleton } from '@mantine/core'
import { type ComponentType, lazy, type RefObject, Suspense, useEffect, useLayoutEffect, useRef } from 'react'
import { type Session, useSession } from './api/session.tsx'
import { t } from './i18n/text.ts'
import { hashOf, leadsPlace, type Page, type Place } from './logic/location.ts'
import { visible } from './logic/visible.ts'
import { SignIn } from './pages/sign-in.tsx'
import { leftAt, usePlace } from './ui/address.tsx'
import { DIALOGS } from './ui/confirm.tsx'
import { Guarded } from './ui/guarded.tsx'
import { Keeping } from './ui/kept-state.tsx'
import { PageTitle } from './ui/panel.tsx'
import { LostBanner, Shell } from './ui/shell.tsx'

export function App() {
  const { state, who } = useSession()
  const asked = usePlace()
  const led = who?.organisation ?? null
  const place = led === null ? asked : leadsPlace(asked, led)
  useFocusAtPlace(place)
  const title = state === 'out' ? t('signIn.title') : titleOf(place)
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
  // While somebody signs in again the page stays behind the sign-in, with everything that was typed.
  return (
    <>
      {state === 'out' && <SignIn again={who !== null} />}
      {who !== null && (
        // biome-ignore lint/a11y/noStaticElementInteractions: it only notes which element inside has the focus
        <div
          hidden={state === 'out'}
          onFocus={({ target }) => {
            used.current = target
          }}
        >
          <Keeping key={who.name}>
            <Shell page={place.page}>
              <Guarded key={place.page}>
                <Suspense fallback={<Skeleton height={320} />}>
                  <PageAt place={place} />
                </Suspense>
              </Guarded>
            </Shell>
          </Keeping>
          <div id={DIALOGS} />
        </div>
      )}
    </>
  )
}

function titleOf({ page, rest }: Place): string {
  return rest === null || ONES[page] === undefined ? t(`page.${page}`) : visible(rest)
}

/** The list of users, or of organisations. */
function listOf(kind: 'users' | 'organisations'): ComponentType {
  return lazy(async () => {
    const { ListPage } = await import('./pages/users/list.tsx')
    return { default: () => <ListPage key={kind} kind={kind} /> }
  })
}

type OfId = { readonly id: string }

/** Each page is loaded when it is first opened. Lists and single entries have different pages. */
const LISTS: Readonly<Record<Page, ComponentType>> = {
  overview: lazy(async () => ({ default: (await import('./pages/overview/overview.tsx')).OverviewPage })),
  errors: lazy(async () => ({ default: (await import('./pages/errors/page.tsx')).ErrorsPage })),
  refusals: lazy(async () => ({ default: (await import('./pages/refusals/refusals.tsx')).RefusalsPage })),
  routes: lazy(async () => ({ default: (await import('./pages/routes/routes.tsx')).RoutesPage })),
  limits: lazy(async () => ({ default: (await import('./pages/limits/page.tsx')).LimitsPage })),
  users: listOf('users'),
  organisations: listOf('organisations'),
  keys: lazy(async () => ({ default: (await import('./pages/keys/keys.tsx')).KeysPage })),
  alerts: lazy(async () => ({ default: (await import('./pages/alerts/page.tsx')).AlertsPage })),
  replicas: lazy(async () => ({ default: (await import('./pages/replicas/replicas.tsx')).ReplicasPage })),
  audit: lazy(async () => ({ default: (await import('./pages/audit/page.tsx')).AuditPage })),
}
const ONES: Partial<Record<Page, ComponentType<OfId>>> = {
  users: lazy(async () => ({ default: (await import('./pages/users/user.tsx')).UserPage })),
  organisations: lazy(async () => ({
    default: (await import('./pages/organisations/organisation.tsx')).OrganisationPage,
  })),
}

function PageAt({ place: { page, rest } }: { readonly place: Place }) {
  const One = ONES[page]
  const List = LISTS[page]
  if (rest !== null && One !== undefined) return <One key={rest} id={rest} />
  return (
    <>
      <PageTitle>{t(`page.${page}`)}</PageTitle>
      <List />
    </>
  )
}

/**
 * Another page or entry moves the focus to its heading, as loading a document would; a change of the fields in the address does not. Back
 * also scrolls to where the page was left.
 */
function useFocusAtPlace({ page, rest }: Place): void {
  const first = useRef(true)
  const place = hashOf(page, rest)
  // biome-ignore lint/correctness/useExhaustiveDependencies: only another place moves the focus
  useLayoutEffect(() => {
    if (!first.current) void headingOf(leftAt())
    first.current = false
  }, [place])
}

/**
 * After a sign-in the focus returns to where it was, or to the heading of the page if that is impossible.
 * @returns where to keep the focused element, because a pressed button may lose the focus by being disabled before the session is known
 * to be over
 */
function useFocusAfterSignIn(state: Session['state']): RefObject<HTMLElement | null> {
  const used = useRef<HTMLElement>(null)
  const wasOut = useRef(false)
  useEffect(() => {
    if (state === 'in' && wasOut.current) {
      used.current?.focus()
      if (document.activeElement === document.body) void headingOf(0)
    }
    // While a link is tried the state is `asking`, and whether somebody was signed out stays as it was.
    if (state !== 'asking') wasOut.current = state === 'out'
  }, [state])
  return used
}

function headingFound(): HTMLElement | null {
  return document.querySelector<HTMLElement>('main h1')
}

/** How many frames a page may take to load: 10 s at 60 frames a second. */
const MOST_LOOKS = 600

/** Focuses the heading of the page and scrolls down to `top`, as soon as both exist, unless somebody scrolls or leaves meanwhile. */
async function headingOf(top: number): Promise<void> {
  const here = location.hash
  window.scrollTo(0, 0)
  for (let looks = 0; looks < MOST_LOOKS && location.hash === here && window.scrollY === 0; looks++) {
    const heading = headingFound()
    if (heading !== null && document.activeElement !== heading) heading.focus({ preventScroll: true })
    const isThere = document.documentElement.scrollHeight >= top + window.innerHeight
    // The heading of the previous page is hidden while this page is loading, and cannot take the focus.
    if (heading !== null && document.activeElement === heading && isThere) return window.scrollTo(0, top)
    await new Promise(requestAnimationFrame)
  }
}
