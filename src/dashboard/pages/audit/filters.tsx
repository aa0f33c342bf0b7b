import { TextInput } from '@mantine/core'
import { t } from '../../i18n/text.ts'
import { KINDS, type Kind } from '../../logic/audit-story.ts'
import type { Fields } from '../../logic/location.ts'
import { lookFor } from '../../ui/address.tsx'
import { bound, Choice } from '../../ui/form.tsx'
import { Plain } from '../../ui/plain.tsx'

export interface AuditFilters {
  /** As it was typed. */
  readonly who: string
  readonly what: Kind | ''
  /** As it was typed. */
  readonly about: string
}

/** The filters in the address. An unknown kind means any. */
export function filtersOf({ who = '', what = '', about = '' }: Fields): AuditFilters {
  const kind = KINDS.find((known) => known === what) ?? ''
  return { who: who.slice(0, MOST), what: kind, about: about.slice(0, MOST) }
}

const MOST = 512

const TYPED = ['who', 'about'] as const

/** Which changes are listed. */
export function Filters(filters: AuditFilters) {
  const isAny = filters.who === '' && filters.what === '' && filters.about === ''
  return (
    <search className="filters">
      <Choice
        {...{ label: t('audit.kind'), none: t('audit.kind.any'), value: filters.what, values: KINDS }}
        nameOf={(kind) => t(`audit.${kind}`)}
        onChoose={(what) => lookFor({ what })}
      />
      {TYPED.map((name) => (
        <TextInput
          key={name}
          label={t(`audit.${name}`)}
          type="search"
          maxLength={256}
          {...bound(filters[name], (text) => lookFor({ [name]: text }))}
        />
      ))}
      <Plain disabled={isAny} onClick={() => lookFor({ who: '', what: '', about: '' })}>
        {t('audit.clear')}
      </Plain>
    </search>
  )
}
