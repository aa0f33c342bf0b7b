import { CloseButton, TextInput } from '@mantine/core'
import type { RoutesResponse } from '../../../contract/api.ts'
import { useOperatorsPoll, useQuota } from '../../api/session.tsx'
import { t } from '../../i18n/text.ts'
import { FILTERS, isFiltered, type RefusalWish } from '../../logic/refusal-filter.ts'
import { SCOPE_WORDS, SCOPES } from '../../logic/scope.ts'
import { visible } from '../../logic/visible.ts'
import { lookFor } from '../../ui/address.tsx'
import { bound, Choice } from '../../ui/form.tsx'
import { Plain } from '../../ui/plain.tsx'
import { Name, Tag } from '../../ui/small.tsx'
import './refusals.css'

/** The choices rarely change. */
const EVERY_MS = 60_000

/** Who, by which limit, where and when. */
export function RefusalFilters({ wish }: { readonly wish: RefusalWish }) {
  const { query, user, organisation, scope, category, route, shadow } = wish
  const quota = useQuota()
  const routes = useOperatorsPoll<RoutesResponse>('/api/routes', EVERY_MS).data
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
