import { SegmentedControl } from '@mantine/core'
import { Fragment, type ReactNode } from 'react'
import { t } from '../i18n/text.ts'
import { changeFields, useFields } from './address.tsx'

interface Part {
  readonly id: string
  readonly label: string
  readonly content: ReactNode
}

/** Parts of a page, one of which is shown: the first, or the one that `part` in the address names. */
export function Parts({ of }: { readonly of: readonly Part[] }) {
  const fields = useFields()
  const shown = of.find(({ id }) => id === fields.part) ?? of[0]
  if (shown === undefined) return null
  return (
    <div>
      <SegmentedControl
        size="xs"
        mb="xs"
        className="parts"
        withItemsBorders={false}
        aria-label={t('parts.label')}
        value={shown.id}
        onChange={(id) => changeFields({ part: id === of[0]?.id ? null : id })}
        data={of.map(({ id, label }) => ({ value: id, label }))}
      />
      <Fragment key={shown.id}>{shown.content}</Fragment>
    </div>
  )
}
