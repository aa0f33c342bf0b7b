import { CloseButton, TextInput } from '@mantine/core'
import type { RefusalsResponse, RoutesResponse } from '../../../contract/api.ts'
import { useOperatorsPoll, useQuota } from '../../api/session.tsx'
import { usePoll } from '../../api/use-poll.ts'
import { t } from '../../i18n/text.ts'
import { FILTERS, isFiltered, type RefusalWish, refusalQuery, refusalWishOf } from '../../logic/refusal-filter.ts'
import { refusalsAt } from '../../logic/refusal-moment.ts'
import { SCOPE_WORDS, SCOPES } from '../../logic/scope.ts'
import { visible } from '../../logic/visible.ts'
import { changeFields, lookFor, useFields } from '../../ui/address.tsx'
import { Filled } from '../../ui/filled.tsx'
import { bound, Choice } from '../../ui/form.tsx'
import { Loaded, Panel, Turning } from '../../ui/panel.tsx'
import { useRange } from '../../ui/range.tsx'
import { At, Name, Plain, Tag } from '../../ui/small.tsx'
import { useTyped } from '../../ui/typed.ts'
import { Groups } from './groups.tsx'
import { type Refusal, RefusalTable } from './refusal-table.tsx'
import './refusals.css'

const EVERY_MS = 15_000
const A_PAGE = 25

/** What the quota refused, by the filters in the address: over time, in groups, and one by one. */
export function RefusalsPage() {
  const fields = useFields()
  const shown = refusalWishOf(fields)
  const wish = { ...shown, query: useTyped(shown.query) }
  const range = useRange()
  const poll = usePoll<RefusalsResponse>(`/api/refusals?${refusalQuery(wish, range, A_PAGE)}`, EVERY_MS)
  return (
    <>
      <Panel title={t(wish.shadow ? 'refusals.titleInShadow' : 'refusals.title')}>
        <RefusalFilters wish={shown} />
        <Groups wish={wish} />
      </Panel>
      <Panel title={t('refusals.each')} text={t('refusals.text')}>
        <Loaded poll={poll}>
          {({ refusals, next }) => (
            <>
              {refusals.length > 0 && (
                <a href={`/api/refusals?${refusalQuery(wish, range, 'csv')}`} download>
                  {t('refusals.csv')}
                </a>
              )}
              <Found refusals={refusals} none={t(nothingOf(wish))} at={wish.at} />
              <Turning
                onFirst={wish.cursor === '' ? null : () => changeFields({ cursor: null }, true)}
                onNext={next === null ? null : () => changeFields({ cursor: next }, true)}
              />
            </>
          )}
        </Loaded>
      </Panel>
    </>
  )
}

function nothingOf(wish: RefusalWish) {
  if (wish.shadow) return isFiltered(wish) ? 'refusals.noneInShadow' : 'refusals.nobodyInShadow'
  return isFiltered(wish) ? 'refusals.none' : 'refusals.nobody'
}

interface FoundProps {
  readonly refusals: readonly Refusal[]
  readonly none: string
  /** The moment in question, if there is one. */
  readonly at: string | null
}

function Found({ refusals, none, at }: FoundProps) {
  const near = at === null || refusals.length === 0 ? null : refusalsAt(refusals, at)
  return (
    <>
      {at !== null && near !== null && (
        <p role="status">
          <Filled text={t(near.isThen ? 'refusals.then' : 'refusals.notThen')} parts={{ at: <At at={at} /> }} />
        </p>
      )}
      <RefusalTable
        label={t('page.refusals')}
        refusals={refusals}
        none={none}
        {...(near !== null && { marked: near.found, mark: t(near.isThen ? 'refusals.mark' : 'refusals.nearest') })}
      />
    </>
  )
}

/** The choices rarely change. */
const CHOICES_EVERY_MS = 60_000

/** The filters by user or organisation, limit and route, and the choice between real refusals and those of shadow mode. */
function RefusalFilters({ wish }: { readonly wish: RefusalWish }) {
  const { query, user, organisation, scope, category, route, shadow } = wish
  const quota = useQuota(60_000)
  const routes = useOperatorsPoll<RoutesResponse>('/api/routes', CHOICES_EVERY_MS).data
  const rules = (routes?.routes ?? []).filter((rule) => !rule.public).map(({ match }) => match)
  const none = t('refusals.any')
  return (
    <search className="filters" aria-label={t('refusals.filters')}>
      <TextInput
        label={t('refusals.query')}
        type="search"
        maxLength={256}
        {...bound(query, (query) => lookFor({ query }))}
      />
      <Choice
        {...{ label: t('refusals.scope'), none, value: scope, values: SCOPES }}
        nameOf={(value) => t(SCOPE_WORDS[value])}
        onChoose={(scope) => lookFor({ scope })}
      />
      <Choice
        {...{ label: t('word.category'), none, value: category, values: quota?.categories ?? [] }}
        onChoose={(category) => lookFor({ category })}
      />
      <Choice
        {...{ label: t('routes.match'), none, value: route, values: rules }}
        onChoose={(route) => lookFor({ route })}
      />
      <Choice
        {...{ label: t('refusals.fate'), none: t('refusals.fate.refused'), value: shadow ? 'true' : '' }}
        {...{ values: ['true'], nameOf: () => t('refusals.fate.shadow') }}
        onChoose={(shadow) => lookFor({ shadow })}
      />
      {(isFiltered(wish) || shadow) && <Plain onClick={() => lookFor(NOTHING)}>{t('refusals.clear')}</Plain>}
      {(user !== '' || organisation !== '') && (
        <p className="filters-whole">
          {user !== '' && <Only name="user" value={user} />}{' '}
          {organisation !== '' && <Only name="organisation" value={organisation} />}
        </p>
      )}
    </search>
  )
}

interface OnlyProps {
  readonly name: 'user' | 'organisation'
  readonly value: string
}

/** The owner whose refusals are shown, with a link back to all. */
function Only({ name, value }: OnlyProps) {
  return (
    <Tag tone="info">
      {t(name === 'user' ? 'word.user' : 'word.organisation')}
      {t('word.colon')}
      <Name of={value} />{' '}
      <CloseButton
        size="xs"
        aria-label={t('refusals.ofAll', { name: visible(value) })}
        onClick={() => lookFor({ [name]: null, at: null })}
      />
    </Tag>
  )
}

const NOTHING = Object.fromEntries([...FILTERS, 'shadow', 'at'].map((name) => [name, null]))
