import { NativeSelect } from '@mantine/core'
import type { KeyboardEvent, PointerEvent } from 'react'
import type { DistributionResponse } from '../../../contract/api.ts'
import { usePoll } from '../../api/use-poll.ts'
import { number, t, windowName } from '../../i18n/text.ts'
import {
  AXIS,
  fieldAt,
  type LimitLine,
  limitLine,
  positionOf,
  steppedField,
  usersFull,
} from '../../logic/distribution.ts'
import { movedTo } from '../../logic/settings.ts'
import { changeFields, useFields } from '../../ui/address.tsx'
import { DataTable } from '../../ui/data-table.tsx'
import { bound } from '../../ui/form.tsx'
import { Loaded } from '../../ui/panel.tsx'
import { useEditing } from './edit.tsx'
import { windowNames } from './names.ts'

/** The distribution is read seldom, because each request looks at every user. */
const EVERY_MS = 60_000

/** Removes the mark that a link has put on a limit, because another limit is chosen. */
const UNMARKED = { scope: null, plan: null }

/** The distribution of users below a personal limit, which can be set by moving a line. */
export function Distribution() {
  const { quota } = useEditing()
  const fields = useFields()
  const category = quota.categories.find((each) => each === fields.category) ?? quota.categories[0] ?? ''
  const windows = windowNames(quota).filter((name) => quota.effective.personal[category]?.[name] !== undefined)
  const window = windows.find((each) => each === fields.window) ?? windows[0] ?? ''
  const path = `/api/quota/distribution?${new URLSearchParams({ category, window, settings: 'true' })}`
  // Without a limit in force no window can be asked for.
  const poll = usePoll<DistributionResponse>(window === '' ? null : path, EVERY_MS)
  if (category === '') return null
  return (
    <section className="distribution" aria-label={t('distribution.title')}>
      <h3>{t('distribution.title')}</h3>
      <div className="distribution-choice">
        <NativeSelect
          label={t('word.category')}
          data={[...quota.categories]}
          {...bound(category, (category) => changeFields({ category, ...UNMARKED }))}
        />
        {windows.length > 0 && (
          <NativeSelect
            label={t('word.window')}
            data={windows.map((name) => ({ value: name, label: windowName(name) }))}
            {...bound(window, (window) => changeFields({ window, ...UNMARKED }))}
          />
        )}
      </div>
      {window === '' ? (
        <p className="muted">{t('distribution.none')}</p>
      ) : (
        <Loaded poll={poll} hasBanner>
          {(found) => <Found found={found} category={category} window={window} />}
        </Loaded>
      )}
    </section>
  )
}

function sentenceOf({ counted, others }: DistributionResponse, { limit, inForce }: LimitLine) {
  if (counted === 0) return others > 0 ? 'distribution.noFollower' : 'distribution.nobody'
  return limit === inForce ? 'distribution.inForce' : 'distribution.above'
}

interface FoundProps {
  readonly found: DistributionResponse
  readonly category: string
  readonly window: string
}

function Found({ found, category, window }: FoundProps) {
  const { quota, draft, edit } = useEditing()
  const line = limitLine(quota, draft, { scope: 'personal', category, window })
  if (line === null) return <p className="muted">{t('distribution.none')}</p>
  const words = {
    limit: number(line.limit),
    above: number(usersFull(found, line.limit, quota.cheapest[category] ?? 1)),
    counted: number(found.counted),
  }
  return (
    <>
      <DistributionChart
        shares={found.shares}
        line={line}
        label={t('distribution.line', { category, window })}
        valueText={t('distribution.value', words)}
        onChange={(field) => edit(line.path, movedTo(quota, draft, line.path, field))}
      />
      <p>{t(sentenceOf(found, line), words)}</p>
      {found.others > 0 && <p>{t('distribution.others', { others: number(found.others) })}</p>}
      {found.exempt > 0 && <p>{t('distribution.exempt', { exempt: number(found.exempt) })}</p>}
      <p className="muted">{t('distribution.text')}</p>
      <details>
        <summary>{t('series.table')}</summary>
        <DataTable
          look="small"
          label={t('distribution.title')}
          columns={[
            {
              ...{ id: 'share', head: t('distribution.share') },
              cell: ({ from }) => (from < 100 ? `${from}–${from + 10}%` : '≥ 100%'),
            },
            { id: 'users', head: t('page.users'), count: ({ count }) => count },
          ]}
          rows={found.shares}
          keyOf={({ from }) => String(from)}
        />
      </details>
    </>
  )
}

interface ChartProps {
  readonly shares: DistributionResponse['shares']
  readonly line: LimitLine
  /** The name of the line. */
  readonly label: string
  /** The position of the line, and its meaning. */
  readonly valueText: string
  /** Called with a new value of the field. */
  readonly onChange: (field: number) => void
}

const HEIGHT = 120
/** The length of the axis, in tenths of the limit in force. */
const TENTHS = AXIS * 10

/** Bars of users by their share of the limit, and the limit as a line that is moved by dragging or by keys. */
function DistributionChart({ shares, line, label, valueText, onChange }: ChartProps) {
  const most = Math.max(1, ...shares.map(({ count }) => count))
  const follow = (event: PointerEvent<HTMLDivElement>) => {
    const { left, width } = event.currentTarget.getBoundingClientRect()
    if (width > 0) onChange(fieldAt(line, (event.clientX - left) / width))
  }
  const press = (event: PointerEvent<HTMLDivElement>) => {
    event.currentTarget.setPointerCapture(event.pointerId)
    event.currentTarget.querySelector<HTMLElement>('[role="slider"]')?.focus({ preventScroll: true })
    // Otherwise the browser moves the focus away again, and selects text.
    event.preventDefault()
    follow(event)
  }
  const step = (event: KeyboardEvent) => {
    const next = steppedField(line, event.key)
    if (next === null) return
    event.preventDefault()
    onChange(next)
  }
  return (
    <div className="distribution-plot">
      <div
        className="distribution-bars"
        onPointerDown={press}
        onPointerMove={(event) => event.currentTarget.hasPointerCapture(event.pointerId) && follow(event)}
      >
        <Bars shares={shares} most={most} line={line} />
        <div
          className="distribution-line"
          role="slider"
          tabIndex={0}
          aria-label={label}
          aria-orientation="horizontal"
          aria-valuemin={0}
          aria-valuemax={Math.max(line.max, line.field)}
          aria-valuenow={line.field}
          aria-valuetext={valueText}
          style={{ left: `${positionOf(line) * 100}%` }}
          onKeyDown={step}
        />
      </div>
      <div className="distribution-axis" aria-hidden="true">
        {[0, 50, 100, 150].map((percent) => (
          <span key={percent} style={{ left: `${percent / AXIS}%` }}>
            {percent}%
          </span>
        ))}
      </div>
    </div>
  )
}

function Bars({ shares, most, line }: Pick<ChartProps, 'shares' | 'line'> & { readonly most: number }) {
  const tenthOfLine = positionOf(line) * TENTHS
  return (
    <svg viewBox={`0 0 ${TENTHS} ${HEIGHT}`} preserveAspectRatio="none" aria-hidden="true">
      {shares.map(({ from, count }) => {
        const height = count === 0 ? 0 : Math.max(2, (count / most) * (HEIGHT - 6))
        return (
          <rect
            key={from}
            className={from / 10 >= tenthOfLine ? 'above' : 'below'}
            x={from / 10 + 0.06}
            y={HEIGHT - height}
            width={0.88}
            height={height}
          />
        )
      })}
    </svg>
  )
}
