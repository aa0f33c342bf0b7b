import { SegmentedControl } from '@mantine/core'
import { useTexts } from '../i18n/text.tsx'
import { RANGES, type Range, rangeOf } from '../logic/range.ts'
import { useFields } from './address.tsx'

/** The range that the page looks at, in the address as `range`. */
export function useRange(): Range {
  const [fields] = useFields()
  return rangeOf(fields.range)
}

/** Chooses it. */
export function RangeSwitch() {
  const { t } = useTexts()
  const [fields, change] = useFields()
  return (
    <SegmentedControl
      className="range"
      aria-label={t('range.label')}
      value={rangeOf(fields.range)}
      // A half-hour that was chosen may lie in no other range.
      onChange={(range) => change({ range, half: null })}
      data={RANGES.map((range) => ({ value: range, label: t(`range.${range}`) }))}
    />
  )
}
