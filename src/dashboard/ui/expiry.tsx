import { NativeSelect, TextInput } from '@mantine/core'
import { useTexts } from '../i18n/text.tsx'
import { type Expiry, PRESET_HOURS } from '../logic/override.ts'

/** When something ends: never, after one of the usual times, or at a time. */
export function ExpiryField({
  label,
  value,
  keep,
  never,
  error,
  onChange,
}: {
  readonly label: string
  readonly value: Expiry
  /** What is set already, in ISO 8601; `null` if nothing is. */
  readonly keep: string | null
  /** What never is called here. */
  readonly never?: string
  readonly error: string | undefined
  readonly onChange: (expiry: Expiry) => void
}) {
  const { t, time } = useTexts()
  const chosen = value.kind === 'hours' ? String(value.hours) : value.kind
  const data = [
    { value: 'never', label: never ?? t('override.expiry.never') },
    ...(keep === null ? [] : [{ value: 'keep', label: t('override.expiry.keep', { time: time(keep) }) }]),
    ...PRESET_HOURS.map((hours) => ({ value: String(hours), label: t(`override.expiry.${hours}`) })),
    { value: 'friday', label: t('override.expiry.friday') },
    { value: 'at', label: t('override.expiry.at') },
  ]
  function choose(kind: string): void {
    if (kind === 'never' || kind === 'friday') onChange({ kind })
    else if (kind === 'keep') onChange({ kind, at: keep ?? '' })
    else if (kind === 'at') onChange({ kind, local: '' })
    else onChange({ kind: 'hours', hours: Number(kind) })
  }
  return (
    <div className="fields">
      <NativeSelect
        label={label}
        value={chosen}
        data={data}
        onChange={(event) => choose(event.currentTarget.value)}
        error={value.kind === 'at' ? undefined : error}
      />
      {value.kind === 'at' && (
        <TextInput
          type="datetime-local"
          label={t('override.expiryAt')}
          value={value.local}
          onChange={(event) => onChange({ kind: 'at', local: event.currentTarget.value })}
          error={error}
        />
      )}
    </div>
  )
}
