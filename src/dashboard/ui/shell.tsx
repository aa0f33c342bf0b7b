import { NativeSelect, useMantineColorScheme } from '@mantine/core'
import { type ReactNode, useEffect, useState, useSyncExternalStore } from 'react'
import { connection, ring } from '../api/client.ts'
import { useLed, useSession } from '../api/session.tsx'
import { LANGUAGES, language, setLanguage, t } from '../i18n/text.ts'
import icon from '../icon.svg'
import { GROUPS, hashOf, LEADS_PAGES, type Page } from '../logic/location.ts'
import { Dropdown } from './dropdown.tsx'
import { bound } from './form.tsx'
import { Jump } from './jump.tsx'
import { RangeControl } from './range.tsx'
import { Note, Plain } from './small.tsx'
import './shell.css'
import { StatusLine } from './status-line.tsx'

/** The frame of every page: header, navigation, and the message about a lost connection. */
export function Shell({ page, children }: { readonly page: Page; readonly children: ReactNode }) {
  const [isOpen, setOpen] = useMenu()
  const led = useLed()
  return (
    <div className={`shell${isOpen ? ' menu-open' : ''}`}>
      <button type="button" className="skip" onClick={() => document.getElementById('main')?.focus()}>
        {t('app.skip')}
      </button>
      <header className="wrap top">
        <a className="brand" href={hashOf('overview')}>
          <img src={icon} alt="" width="26" height="26" />
          Tollgate
        </a>
        <Plain className="menu" size="xs" aria-expanded={isOpen} aria-controls="menu" onClick={() => setOpen(!isOpen)}>
          {t('app.menu')}
        </Plain>
        {led === null && <Jump />}
        <RangeControl />
        <div className="wrap top-end">
          <Who />
        </div>
      </header>
      <nav id="menu" className="nav" aria-label={t('app.nav')}>
        {led === null ? (
          <OperatorsLinks page={page} />
        ) : (
          LEADS_PAGES.map((name) => <PageLink key={name} to={name} page={page} />)
        )}
        <p className="muted zone">{t('app.zone', { zone: zoneNow() })}</p>
      </nav>
      <div className="page">
        {led === null && <StatusLine />}
        <main id="main" tabIndex={-1}>
          <LostBanner />
          {children}
        </main>
      </div>
    </div>
  )
}

/** The links to all pages. */
function OperatorsLinks({ page }: { readonly page: Page }) {
  return (
    <>
      <PageLink to="overview" page={page} />
      {(Object.keys(GROUPS) as (keyof typeof GROUPS)[]).map((group) => (
        // biome-ignore lint/a11y/useSemanticElements: links are no form
        <div key={group} role="group" aria-label={t(`page.group.${group}`)} className="nav-group">
          <span aria-hidden="true">{t(`page.group.${group}`)}</span>
          {GROUPS[group].map((name) => (
            <PageLink key={name} to={name} page={page} />
          ))}
        </div>
      ))}
    </>
  )
}

/** Whether the menu of a narrow window is open. Following any link closes it. */
function useMenu(): [boolean, (isOpen: boolean) => void] {
  const [isOpen, setOpen] = useState(false)
  useEffect(() => {
    const close = () => setOpen(false)
    window.addEventListener('hashchange', close)
    return () => window.removeEventListener('hashchange', close)
  }, [])
  return [isOpen, setOpen]
}

function PageLink({ to, page }: { readonly to: Page; readonly page: Page }) {
  return (
    <a href={hashOf(to)} aria-current={to === page ? 'page' : undefined}>
      {t(`page.${to}`)}
    </a>
  )
}

/** The browser's zone with its present distance from UTC, which applies to all times on the page. */
function zoneNow(): string {
  const { timeZone } = new Intl.DateTimeFormat().resolvedOptions()
  const parts = new Intl.DateTimeFormat('en', { timeZone, timeZoneName: 'longOffset' }).formatToParts(new Date())
  const offset = parts.find(({ type }) => type === 'timeZoneName')?.value.replace('GMT', 'UTC') ?? 'UTC'
  return timeZone === offset ? timeZone : `${timeZone} (${offset})`
}

function Who() {
  const { who, signOut } = useSession()
  const [failed, setFailed] = useState(false)
  if (who === null) return null
  function leave(): void {
    setFailed(false)
    signOut().catch(() => setFailed(true))
  }
  const label = (
    <span className="who">
      <bdi>{who.name}</bdi> ({t(`app.role.${who.role}`)})
    </span>
  )
  return (
    <Dropdown label={label} title={t('app.account')}>
      <div className="actions">
        <Preferences />
      </div>
      {who.canSignOut && (
        <Plain size="xs" onClick={leave}>
          {t('app.signOut')}
        </Plain>
      )}
      {failed && <p role="alert">{t('app.signOutFailed')}</p>}
    </Dropdown>
  )
}

export function Preferences() {
  // Without `keepTransitions`, Mantine would put a <style> element into the page to stop transitions.
  const { colorScheme, setColorScheme } = useMantineColorScheme({ keepTransitions: true })
  return (
    <>
      <NativeSelect
        size="xs"
        aria-label={t('app.language')}
        {...bound(language, (text) => setLanguage(text as keyof typeof LANGUAGES))}
        data={Object.entries(LANGUAGES).map(([value, label]) => ({ value, label }))}
      />
      <NativeSelect
        size="xs"
        aria-label={t('app.theme')}
        {...bound(colorScheme, (text) => setColorScheme(text as 'auto' | 'light' | 'dark'))}
        data={(['auto', 'light', 'dark'] as const).map((value) => ({ value, label: t(`app.theme.${value}`) }))}
      />
    </>
  )
}

export function LostBanner() {
  const lost = useSyncExternalStore(connection.subscribe, connection.isLost)
  if (!lost) return null
  return (
    <Note tone="bad" title={t('lost.title')}>
      {t('lost.text')}{' '}
      <Plain size="compact-sm" onClick={() => ring('again')}>
        {t('lost.try')}
      </Plain>
    </Note>
  )
}
