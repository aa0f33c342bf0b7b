import { Modal, TextInput, useMantineColorScheme } from '@mantine/core'
import { type KeyboardEvent, useEffect, useState } from 'react'
import type { OrganisationsResponse, RoutesResponse, UsersResponse } from '../../contract/api.ts'
import { usePoll } from '../api/use-poll.ts'
import { en } from '../i18n/en.ts'
import { setLanguage, t } from '../i18n/text.ts'
import { type Goal, goalsOf, LOOKS, typedOf, VERBS, type Verb } from '../logic/jump.ts'
import { PAGES } from '../logic/location.ts'
import { visible } from '../logic/visible.ts'
import { DIALOGS } from './confirm.tsx'
import './jump.css'
import { Name, Plain } from './small.tsx'
import { useTyped } from './typed.ts'

/** How many users are offered at most, and how many organisations. */
const MOST = 5
/** How often the results are read again while they are shown. */
const EVERY_MS = 30_000
const LIST = 'jump-list'

/** The button that opens the search over all pages, with its keys Ctrl-K, or Cmd-K on a Mac. */
export function Jump() {
  const [isOpen, setOpen] = useState(false)
  useEffect(() => {
    const listen = (event: globalThis.KeyboardEvent): void => {
      if (!(event.ctrlKey || event.metaKey) || event.altKey || event.shiftKey || event.key.toLowerCase() !== 'k') return
      event.preventDefault()
      // An open question must not be covered by another dialog.
      setOpen((was) => was || document.querySelector('[role="dialog"]') === null)
    }
    window.addEventListener('keydown', listen)
    return () => window.removeEventListener('keydown', listen)
  }, [])
  return (
    <>
      <Plain className="jump-open" size="xs" aria-keyshortcuts="Control+K Meta+K" onClick={() => setOpen(true)}>
        {t('jump.open')}
        <kbd className="jump-keys">Ctrl K</kbd>
      </Plain>
      <Modal
        opened={isOpen}
        title={t('jump.title')}
        onClose={() => setOpen(false)}
        portalProps={{ target: `#${DIALOGS}` }}
        lockScroll={false}
        // A dialog that fades out would be taken for an open question.
        transitionProps={{ duration: 0 }}
        closeButtonProps={{ 'aria-label': t('word.close') }}
      >
        <Search onLeave={() => setOpen(false)} />
      </Modal>
    </>
  )
}

function Search({ onLeave }: { readonly onLeave: () => void }) {
  const [typed, setTyped] = useState('')
  const [at, setAt] = useState(0)
  const goals = useGoals(typed)
  const { setColorScheme } = useMantineColorScheme({ keepTransitions: true })
  const chosen = Math.min(at, goals.length - 1)

  function go({ href, look }: Goal): void {
    onLeave()
    if (look === undefined) location.hash = href
    else if (look === 'en' || look === 'zh') setLanguage(look)
    else setColorScheme(look)
  }

  function press(event: KeyboardEvent): void {
    const goal = goals[chosen]
    if (event.key === 'ArrowDown') setAt(goals.length === 0 ? 0 : (chosen + 1) % goals.length)
    else if (event.key === 'ArrowUp') setAt(goals.length === 0 ? 0 : (chosen + goals.length - 1) % goals.length)
    else if (event.key === 'Enter' && goal !== undefined) go(goal)
    else return
    event.preventDefault()
  }

  return (
    <>
      <TextInput
        role="combobox"
        aria-label={t('jump.title')}
        aria-expanded={goals.length > 0}
        aria-controls={LIST}
        aria-activedescendant={goals.length > 0 ? optionId(chosen) : undefined}
        description={t('jump.help')}
        maxLength={256}
        autoComplete="off"
        value={typed}
        onChange={(event) => {
          setTyped(event.currentTarget.value)
          setAt(0)
        }}
        onKeyDown={press}
        data-autofocus
      />
      <div role="listbox" id={LIST} aria-label={t('jump.results')} className="jump-list">
        {goals.map((goal, i) => (
          <Option key={`${goal.kind} ${goal.name}`} goal={goal} id={optionId(i)} isChosen={i === chosen} onGo={go} />
        ))}
      </div>
    </>
  )
}

interface OptionProps {
  readonly goal: Goal
  readonly id: string
  readonly isChosen: boolean
  readonly onGo: (goal: Goal) => void
}

function Option({ goal, id, isChosen, onGo }: OptionProps) {
  return (
    // biome-ignore lint/a11y/useFocusableInteractive: the field above keeps the focus and names the option that is chosen
    // biome-ignore lint/a11y/useKeyWithClickEvents: the field above handles the keys
    <div role="option" id={id} aria-selected={isChosen} onClick={() => onGo(goal)}>
      {goal.kind === 'userById' ? (
        <bdi>{t('jump.userById', { id: visible(goal.name) })}</bdi>
      ) : (
        <>
          {goal.verb === undefined ? (
            <Name of={goal.name} />
          ) : (
            <bdi>{t(`jump.do.${goal.verb}`, { name: visible(goal.name) })}</bdi>
          )}{' '}
          <span className="muted">{t(`jump.${goal.kind}`)}</span>
        </>
      )}
    </div>
  )
}

function optionId(i: number): string {
  return `${LIST}-${i}`
}

/** English works in every language, because some people know the words of the API. */
function wordsOf(verb: Verb): readonly string[] {
  return [en[`jump.words.${verb}`], t(`jump.words.${verb}`)].flatMap((words) => words.toLowerCase().split(', '))
}

function useGoals(text: string): readonly Goal[] {
  const words = Object.fromEntries(VERBS.map((verb) => [verb, wordsOf(verb)])) as Record<Verb, readonly string[]>
  const typed = typedOf(text, words)
  const asked = useTyped(typed.name)
  const query = asked === '' ? null : `?query=${encodeURIComponent(asked)}&limit=${MOST}`
  const users = usePoll<UsersResponse>(query === null ? null : `/api/users${query}`, EVERY_MS)
  const organisations = usePoll<OrganisationsResponse>(query === null ? null : `/api/organisations${query}`, EVERY_MS)
  const routes = usePoll<RoutesResponse>('/api/routes', EVERY_MS).data
  return goalsOf(typed, {
    areUsersRead: (users.data !== null || users.error !== null) && asked === typed.name,
    pages: PAGES.map((page) => [page, t(`page.${page}`)] as const),
    users: (users.data?.users ?? []).map(({ user }) => user),
    organisations: (organisations.data?.organisations ?? []).map(({ organisation }) => organisation),
    routes: (routes?.routes ?? []).map(({ match }) => match),
    looks: LOOKS.map((look) => [look, t(`jump.look.${look}`)] as const),
  })
}
