import { Button, NativeSelect, TextInput } from '@mantine/core'
import type { QuotaResponse, RoutesResponse } from '../../../contract/api.ts'
import { usePoll } from '../../api/use-poll.ts'
import { useTexts } from '../../i18n/text.tsx'
import { isFiltered, type RefusalWish, SCOPES, SINCE_MS, type Since } from '../../logic/refusal-filter.ts'
import { SCOPE_WORDS } from '../../logic/scope.ts'
import './refusals.css'

/** What the choices are made of changes seldom. */
const EVERY_MS = 60_000

interface RefusalFiltersProps {
  readonly wish: RefusalWish
  readonly change: (changes: Readonly<Record<string, string | null>>) => void
}

/** Who, by which limit, where and when. */
export function RefusalFilters({ wish, change }: RefusalFiltersProps) {
  const { t } = useTexts()
  const { user, organisation, scope, category, route, shadow } = wish
  const quota = usePoll<QuotaResponse>('/api/quota', EVERY_MS).data
  const routes = usePoll<RoutesResponse>('/api/routes', EVERY_MS).data
  const rules = (routes?.routes ?? []).filter((rule) => !rule.public).map(({ match }) => match)
  const any = { value: '', label: t('refusals.any') }
  return (
    <search className="filters" aria-label={t('refusals.filters')}>
      <TextInput
        label={t('word.user')}
        placeholder={t('refusals.exactUser')}
        maxLength={256}
        value={user}
        onChange={(event) => change({ user: event.currentTarget.value })}
      />
      <TextInput
        label={t('users.organisation')}
        maxLength={256}
        value={organisation}
        onChange={(event) => change({ organisation: event.currentTarget.value })}
      />
      <NativeSelect
        label={t('refusals.scope')}
        data={[any, ...SCOPES.map((value) => ({ value, label: t(SCOPE_WORDS[value]) }))]}
        value={scope}
        onChange={(event) => change({ scope: event.currentTarget.value })}
      />
      <NativeSelect
        label={t('word.category')}
        data={[any, ...withChosen(quota?.categories ?? [], category)]}
        value={category}
        onChange={(event) => change({ category: event.currentTarget.value })}
      />
      <NativeSelect
        label={t('refusals.route')}
        data={[any, ...withChosen(rules, route)]}
        value={route}
        onChange={(event) => change({ route: event.currentTarget.value })}
      />
      <NativeSelect
        label={t('refusals.fate')}
        data={[
          { value: '', label: t('refusals.fate.refused') },
          { value: 'true', label: t('refusals.fate.shadow') },
        ]}
        value={shadow ? 'true' : ''}
        onChange={(event) => change({ shadow: event.currentTarget.value })}
      />
      <WhenSelect wish={wish} change={change} />
      {(isFiltered(wish) || shadow || wish.range !== null) && (
        <Button variant="default" onClick={() => change(NOTHING)}>
          {t('refusals.clear')}
        </Button>
      )}
    </search>
  )
}

const NOTHING = {
  user: null,
  organisation: null,
  scope: null,
  category: null,
  route: null,
  shadow: null,
  from: null,
  until: null,
  at: null,
}

/** The choices, and what the address has chosen, though it may be gone from the configuration. */
function withChosen(choices: readonly string[], chosen: string): readonly string[] {
  return [...new Set(chosen === '' ? choices : [...choices, chosen])]
}

/** Less than the shortest day has. */
const A_DAY_MS = 23 * 3_600_000

function WhenSelect({ wish: { since, range }, change }: RefusalFiltersProps) {
  const { t, time, span } = useTexts()
  const named = (Object.keys(SINCE_MS) as Since[]).map((value) => ({ value, label: t(`refusals.since.${value}`) }))
  const own = range && {
    value: 'range',
    label:
      Date.parse(range.until) - Date.parse(range.from) < A_DAY_MS
        ? span(new Date(range.from), new Date(range.until))
        : t('refusals.since.at', { from: time(range.from), until: time(range.until) }),
  }
  function choose(value: string): void {
    if (value !== 'range') change({ since: value, from: null, until: null, at: null })
  }
  return (
    <NativeSelect
      className={own === null ? '' : 'filter-range'}
      label={t('refusals.since')}
      data={own === null ? named : [own, ...named]}
      value={own?.value ?? since}
      onChange={(event) => choose(event.currentTarget.value)}
    />
  )
}
