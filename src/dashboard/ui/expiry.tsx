import { NativeSelect, TextInput } from '@mantine/core'
import { serverNow } from '../api/client.ts'
import { day, lengthWords, minute, t, time } from '../i18n/text.ts'
import { type Expiry, endOfDay, endOfFriday, PRESET_HOURS, tomorrowsHour } from '../logic/override.ts'
import { bound } from './form.tsx'

interface ExpiryProps {
  readonly label: string
  readonly value: Expiry
  /** The present end, in ISO 8601; `null` if nothing is set. */
  readonly keep: string | null
  /** Whether "never" can be chosen. Default true. */
  readonly hasNever?: boolean
  /** Another name for "never". */
  readonly never?: string
  readonly error: string | undefined
  readonly onChange: (expiry: Expiry) => void
}

/** When something ends: never, after a usual time, or at a chosen time. Each option shows its day. */
export function ExpiryField({ label, value, keep, hasNever = true, never, error, onChange }: ExpiryProps) {
  const chosen = value.kind === 'hours' ? String(value.hours) : value.kind
  const data = [
    ...(hasNever ? [{ value: 'never', label: never ?? t('override.expiry.never') }] : []),
    ...(keep === null ? [] : [{ value: 'keep', label: t('override.expiry.keep', { time: time(keep) }) }]),
    ...presetsOf(serverNow()),
    { value: 'at', label: t('override.expiry.at') },
  ]
  function choose(kind: string): void {
    if (kind === 'never' || kind === 'today' || kind === 'tomorrow' || kind === 'friday') onChange({ kind })
    else if (kind === 'keep') onChange({ kind, at: keep ?? '' })
    else if (kind === 'at') onChange({ kind, local: tomorrowsHour(serverNow()) })
    else onChange({ kind: 'hours', hours: Number(kind) })
  }
  return (
    <div className="fields">
      <NativeSelect label={label} {...bound(chosen, choose, value.kind === 'at' ? undefined : error)} data={data} />
      {value.kind === 'at' && (
        <TextInput
          type="datetime-local"
          label={t('override.expiryAt')}
          {...bound(value.local, (local) => onChange({ kind: 'at', local }), error)}
        />
      )}
    </div>
  )
}

/** The end of a day is shown as that day, not as the midnight after it. @param now milliseconds since the epoch */
function presetsOf(now: number): { value: string; label: string }[] {
  const lastDay = (end: number) => day(new Date(end - 1))
  return [
    ...PRESET_HOURS.map((hours) => {
      const at = new Date(now + hours * 3_600_000)
      const words =
        hours === 1 ? { time: lengthWords('1h'), at: minute(at) } : { time: lengthWords(`${hours / 24}d`), at: day(at) }
      return { value: String(hours), label: t('override.expiry.in', words) }
    }),
    { value: 'today', label: t('override.expiry.today', { day: lastDay(endOfDay(now, 0)) }) },
    { value: 'tomorrow', label: t('override.expiry.tomorrow', { day: lastDay(endOfDay(now, 1)) }) },
    { value: 'friday', label: t('override.expiry.friday', { day: lastDay(endOfFriday(now)) }) },
  ]
}
