import { Button, Checkbox, NativeSelect } from '@mantine/core'
import { useTexts } from '../../i18n/text.tsx'
import { flagsOf, isFiltered, type ListFilter } from '../../logic/list-filter.ts'
import type { Kind } from './used-table.tsx'

interface ListFiltersProps {
  readonly kind: Kind
  readonly filter: ListFilter
  /** Of the configuration; none without. */
  readonly plans: readonly string[]
  readonly change: (changes: Readonly<Record<string, string | null>>) => void
}

/** Which of them are listed, beside the search. */
export function ListFilters({ kind, filter, plans, change }: ListFiltersProps) {
  const { t } = useTexts()
  return (
    <fieldset className="list-filters" aria-label={t('users.filters')}>
      {flagsOf(kind).map((flag) => (
        <Checkbox
          key={flag}
          label={t(`users.filter.${flag}`)}
          checked={filter[flag] === 'true'}
          onChange={(event) => change({ [flag]: event.currentTarget.checked ? 'true' : null, cursor: null })}
        />
      ))}
      {plans.length > 0 && (
        <NativeSelect
          aria-label={t('users.filter.plan')}
          data={[{ value: '', label: t('users.filter.anyPlan') }, ...plans]}
          value={filter.plan ?? ''}
          onChange={(event) => change({ plan: event.currentTarget.value, cursor: null })}
        />
      )}
      {isFiltered(filter) && (
        <Button size="compact-sm" variant="default" onClick={() => change(NOTHING)}>
          {t('refusals.clear')}
        </Button>
      )}
    </fieldset>
  )
}

const NOTHING = { blocked: null, override: null, shadow: null, plan: null, cursor: null }
