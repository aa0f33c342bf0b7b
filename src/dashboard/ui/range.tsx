import { Checkbox, SegmentedControl, TextInput } from '@mantine/core'
import { type FormEvent, useState } from 'react'
import { serverNow } from '../api/client.ts'
import { date, dateMinute, lengthWords, t } from '../i18n/text.ts'
import {
  dayLater,
  endsOf,
  isDay,
  localIso,
  momentOf,
  monthOf,
  NAMED,
  type Range,
  type RangeName,
  rangeOf,
  usualRange,
} from '../logic/range.ts'
import { changeFields, usePlace } from './address.tsx'
import { Dropdown } from './dropdown.tsx'
import { bound } from './form.tsx'
import { Plain } from './small.tsx'
import './range.css'

/** The range of the page: `range`, or `from` and `to`, of the address. */
export function useRange(): Range {
  return rangeOf(usePlace())
}

/** Whether charts also show the time before: `compare` of the address. */
export function useComparing(): boolean {
  return usePlace().fields.compare === 'true'
}

/** Returns a function that chooses a range by its moments. Back returns to the range before. */
export function useZoom(): (from: Date, to: Date) => void {
  return (from, to) => changeFields({ ...NOWHERE, from: from.toISOString(), to: to.toISOString(), range: null }, true)
}

/** The choice of the range for all pages, in the header. Nothing on a page without a range. */
export function RangeControl() {
  const place = usePlace()
  const usual = usualRange(place)
  if (usual === null) return null
  const { name } = rangeOf(place)
  const names = usual === 'all' ? [...NAMED, 'all' as const] : NAMED
  return (
    <search className="wrap range" aria-label={t('range.label')}>
      <SegmentedControl
        size="xs"
        aria-label={t('range.label')}
        value={name ?? ''}
        // A chosen half-hour may not be in another range.
        onChange={(range) => changeFields({ ...NOWHERE, range: range === 'all' ? null : range })}
        data={names.map((each) => ({ value: each, label: nameOf(each) }))}
      />
      <Dates key={location.hash} range={rangeOf(place)} />
    </search>
  )
}

const NOWHERE = { from: null, to: null, half: null, at: null, cursor: null, before: null } as const

function Dates({ range }: { readonly range: Range }) {
  const compares = useComparing()
  return (
    <Dropdown label={range.name === null ? rangeWords(range) : t('range.dates')} isOn={range.name === null}>
      <div className="actions">
        {[0, 1].map((before) => (
          <Plain
            key={before}
            size="compact-sm"
            onClick={() => changeFields({ ...NOWHERE, range: null, ...monthOf(new Date(serverNow()), before) })}
          >
            {t(before === 0 ? 'range.thisMonth' : 'range.lastMonth')}
          </Plain>
        ))}
      </div>
      <DaysForm range={range} />
      <Checkbox
        label={t('range.compare')}
        description={t('range.compareText')}
        checked={compares}
        onChange={(event) => changeFields({ compare: event.currentTarget.checked ? 'true' : null })}
      />
    </Dropdown>
  )
}

function DaysForm({ range }: { readonly range: Range }) {
  const { from, to } = endsOf(range, serverNow())
  const [first, setFirst] = useState(() => localIso(from === 0 ? serverNow() : from).slice(0, 'YYYY-MM-DD'.length))
  const [last, setLast] = useState(() => localIso(to - 1).slice(0, 'YYYY-MM-DD'.length))
  const isWrong = !(first <= last && isDay(first) && isDay(last))
  function submit(event: FormEvent): void {
    event.preventDefault()
    if (!isWrong) changeFields({ ...NOWHERE, range: null, from: first, to: dayLater(last, 1) })
  }
  return (
    <form className="wrap ends" onSubmit={submit} noValidate>
      <TextInput type="date" size="xs" label={t('range.first')} {...bound(first, setFirst)} />
      <TextInput
        type="date"
        size="xs"
        label={t('range.last')}
        {...bound(last, setLast, isWrong ? t('range.wrong') : undefined)}
      />
      <Plain type="submit" size="xs">
        {t('range.apply')}
      </Plain>
    </form>
  )
}

function nameOf(name: NonNullable<RangeName>): string {
  return name === 'all' ? t('range.all') : lengthWords(name)
}

/** `24 hours`, `1 Nov – 30 Nov`, `28 Nov, 14:00 – 28 Nov, 18:30`. */
export function rangeWords({ name, from, to }: Range): string {
  if (name !== null) return nameOf(name)
  const begin = isDay(from) ? date(momentOf(from)) : dateMinute(momentOf(from))
  if (to === null) return t('range.since', { from: begin })
  const lastDay = isDay(to) ? dayLater(to, -1) : to
  const end = isDay(to) ? date(momentOf(lastDay)) : dateMinute(momentOf(to))
  return isDay(from) && lastDay === from ? begin : `${begin} – ${end}`
}
