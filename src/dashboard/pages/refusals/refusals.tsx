import type { RefusalsResponse } from '../../../contract/api.ts'
import { usePoll } from '../../api/use-poll.ts'
import { t } from '../../i18n/text.ts'
import { isFiltered, type RefusalWish, refusalQuery, refusalWishOf } from '../../logic/refusal-filter.ts'
import { refusalsAt } from '../../logic/refusal-moment.ts'
import { changeFields, useFields } from '../../ui/address.tsx'
import { Filled } from '../../ui/filled.tsx'
import { Loaded, Panel, Turning } from '../../ui/panel.tsx'
import { useRange } from '../../ui/range.tsx'
import { At } from '../../ui/small.tsx'
import { useTyped } from '../../ui/typed.ts'
import { RefusalFilters } from './filters.tsx'
import { Groups } from './groups.tsx'
import { type Refusal, RefusalTable } from './refusal-table.tsx'

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
