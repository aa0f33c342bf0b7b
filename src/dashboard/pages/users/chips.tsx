import { Chip } from '@mantine/core'
import { number, t } from '../../i18n/text.ts'
import { flagsOf, type Kind, type ListFilter } from '../../logic/list-filter.ts'
import { lookFor } from '../../ui/address.tsx'
import type { ListResponse } from './line.ts'

interface ChipsProps {
  readonly kind: Kind
  readonly filter: ListFilter
  /** How many entries each filter leaves; `undefined` while unknown. */
  readonly counts: ListResponse['counts']
}

/** Filters of the list. Each chip shows how many entries it leaves. */
export function Chips({ kind, filter, counts }: ChipsProps) {
  return (
    <fieldset className="chips" aria-label={t('refusals.filters')}>
      {flagsOf(kind)
        .filter((flag) => filter[flag] === 'true' || counts === undefined || counts[flag] > 0 || ALWAYS.includes(flag))
        .map((flag) => (
          <Chip
            key={flag}
            size="xs"
            variant="outline"
            checked={filter[flag] === 'true'}
            onChange={(checked) => lookFor({ [flag]: checked ? 'true' : null })}
          >
            {t(`users.filter.${flag}`)} <b>{counts === undefined ? '…' : number(counts[flag])}</b>
          </Chip>
        ))}
    </fieldset>
  )
}

/** Shown even if there are none, because that is worth knowing. */
const ALWAYS: readonly string[] = ['near', 'refused', 'blocked', 'override']
