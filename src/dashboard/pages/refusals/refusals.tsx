import { useDebouncedValue } from '@mantine/hooks'
import { useState } from 'react'
import type { RefusalsResponse } from '../../../contract/api.ts'
import { serverNow } from '../../api/client.ts'
import { usePoll } from '../../api/use-poll.ts'
import { useTexts } from '../../i18n/text.tsx'
import { isFiltered, type RefusalWish, refusalQuery, refusalWishOf } from '../../logic/refusal-filter.ts'
import { refusalsAt } from '../../logic/refusal-moment.ts'
import { useFields } from '../../ui/address.tsx'
import { Filled } from '../../ui/filled.tsx'
import { Loaded, PageTitle, Panel, Turning } from '../../ui/panel.tsx'
import { At } from '../../ui/small.tsx'
import { RefusalFilters } from './filters.tsx'
import { type Refusal, RefusalTable } from './refusal-table.tsx'

const EVERY_MS = 10_000
const A_PAGE = 50

/** What the quota refused, with filters that the address has. */
export function RefusalsPage() {
  const { t } = useTexts()
  const [fields, change] = useFields()
  const wish = refusalWishOf(fields)
  // Of one look at the page: the question does not change with each minute that goes by.
  const [now] = useState(serverNow)
  const [path] = useDebouncedValue(`/api/refusals?${refusalQuery(wish, now, A_PAGE)}`, 300)
  const poll = usePoll<RefusalsResponse>(path, EVERY_MS)
  return (
    <>
      <PageTitle>{t('page.refusals')}</PageTitle>
      <Panel title={t(wish.shadow ? 'refusals.titleInShadow' : 'refusals.title')} text={t('refusals.text')}>
        <RefusalFilters wish={wish} change={(changes) => change({ ...changes, cursor: null })} />
        <Loaded poll={poll}>
          {({ refusals, next }) => (
            <>
              {refusals.length === 0 ? (
                <p role="status">{t(nothingOf(wish))}</p>
              ) : (
                <Found refusals={refusals} at={wish.at} />
              )}
              <Turning
                onFirst={wish.cursor === '' ? null : () => change({ cursor: null }, true)}
                onNext={next === null ? null : () => change({ cursor: next }, true)}
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
  /** The moment that is asked about, if one is. */
  readonly at: string | null
}

function Found({ refusals, at }: FoundProps) {
  const { t } = useTexts()
  const near = at === null ? null : refusalsAt(refusals, at)
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
        {...(near !== null && { marked: near.found, mark: t(near.isThen ? 'refusals.mark' : 'refusals.nearest') })}
      />
    </>
  )
}
