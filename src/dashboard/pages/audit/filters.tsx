import { Button, NativeSelect, TextInput } from '@mantine/core'
import { useDebouncedCallback } from '@mantine/hooks'
import { useState } from 'react'
import { useTexts } from '../../i18n/text.tsx'
import { KINDS, type Kind } from '../../logic/audit-story.ts'
import type { Fields } from '../../logic/location.ts'

export interface AuditFilters {
  readonly who: string
  readonly what: Kind | ''
  readonly about: string
}

/** What is looked for, as the address has it. A kind that is none counts as any. */
export function filtersOf({ who = '', what = '', about = '' }: Fields): AuditFilters {
  const kind = KINDS.find((known) => known === what) ?? ''
  return { who: who.trim().slice(0, MOST), what: kind, about: about.trim().slice(0, MOST) }
}

const MOST = 512
const TYPED_MS = 300

/** Which changes are listed. */
export function Filters({
  filters,
  onChange,
}: {
  readonly filters: AuditFilters
  readonly onChange: (filters: Partial<AuditFilters>) => void
}) {
  const { t } = useTexts()
  const isAny = filters.who === '' && filters.what === '' && filters.about === ''
  const [turn, setTurn] = useState(0)
  return (
    <search className="audit-filters">
      <NativeSelect
        label={t('audit.kind')}
        value={filters.what}
        data={[
          { value: '', label: t('audit.kind.any') },
          ...KINDS.map((kind) => ({ value: kind, label: t(`audit.${kind}`) })),
        ]}
        onChange={(event) => onChange({ what: event.currentTarget.value as Kind | '' })}
      />
      <Typed key={`who ${turn}`} label={t('audit.who')} value={filters.who} onChange={(who) => onChange({ who })} />
      <Typed
        key={`about ${turn}`}
        label={t('audit.about')}
        value={filters.about}
        onChange={(about) => onChange({ about })}
      />
      <Button
        variant="default"
        disabled={isAny}
        onClick={() => {
          onChange({ who: '', what: '', about: '' })
          setTurn(turn + 1)
        }}
      >
        {t('audit.clear')}
      </Button>
    </search>
  )
}

/** A text that counts when nothing more was typed for a moment. */
function Typed({
  label,
  value,
  onChange,
}: {
  readonly label: string
  readonly value: string
  readonly onChange: (value: string) => void
}) {
  const [typed, setTyped] = useState(value)
  const change = useDebouncedCallback(onChange, TYPED_MS)
  return (
    <TextInput
      label={label}
      type="search"
      maxLength={256}
      value={typed}
      onChange={({ currentTarget }) => {
        setTyped(currentTarget.value)
        change(currentTarget.value)
      }}
    />
  )
}
