import { Checkbox } from '@mantine/core'
import { useEffect, useRef, useState } from 'react'
import type { FailuresResponse } from '../../../admin/api.ts'
import { usePoll } from '../../api/use-poll.ts'
import { useTexts } from '../../i18n/text.tsx'
import { type Bucket, bucketsOf } from '../../logic/buckets.ts'
import { logFilter } from '../../logic/log-filter.ts'
import { Loaded, Panel, Rows } from '../../ui/panel.tsx'
import { Copyable } from '../../ui/small.tsx'
import { FailureChart } from './failure-chart.tsx'

const EVERY_MS = 10_000

export function Failures() {
  const { t } = useTexts()
  const poll = usePoll<FailuresResponse>('/api/failures', EVERY_MS)
  return (
    <Panel title={t('chart.title')} text={t('chart.text')}>
      <Loaded poll={poll} hasBanner>
        {(response) => <History buckets={bucketsOf(response)} />}
      </Loaded>
    </Panel>
  )
}

function History({ buckets }: { readonly buckets: readonly Bucket[] }) {
  const { t, number } = useTexts()
  const [opened, setOpened] = useState<Date | null>(null)
  const sum = (field: 'total' | 'status0' | 'status5xx') =>
    number(buckets.reduce((all, bucket) => all + bucket[field], 0))
  const bucket = buckets.find(({ from }) => from.getTime() === opened?.getTime())
  return (
    <>
      <FailureChart buckets={buckets} onOpen={({ from }) => setOpened(from)} />
      <p className="muted">
        {t('chart.sum', { status0: sum('status0'), status5xx: sum('status5xx'), total: sum('total') })}
      </p>
      {bucket && <Filter key={bucket.from.getTime()} bucket={bucket} />}
      <AsTable buckets={buckets} />
    </>
  )
}

/** Takes the focus, because it was asked for from somewhere else. */
function Filter({ bucket: { from, to } }: { readonly bucket: Bucket }) {
  const { t, span } = useTexts()
  const title = useRef<HTMLHeadingElement>(null)
  useEffect(() => title.current?.focus(), [])
  return (
    <div className="filter">
      <h3 ref={title} tabIndex={-1}>
        {t('chart.filter')}: {span(from, to)} ({span(from, to, 'UTC')} UTC)
      </h3>
      <p>{t('chart.filterText')}</p>
      <Copyable text={logFilter(from, to)} label={t('chart.filter')} />
    </div>
  )
}

function AsTable({ buckets }: { readonly buckets: readonly Bucket[] }) {
  const { t, number, span } = useTexts()
  const [open, setOpen] = useState(false)
  const [onlyFailed, setOnlyFailed] = useState(true)
  const shown = buckets.filter(({ status0, status5xx }) => !onlyFailed || status0 + status5xx > 0).toReversed()
  const head = [
    `${t('chart.start')} (${t('chart.local')})`,
    t('chart.utc'),
    t('chart.status0Short'),
    t('chart.status5xxShort'),
    t('chart.total'),
  ]
  return (
    <details onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>{t('chart.table')}</summary>
      {open && (
        <>
          <Checkbox
            label={t('chart.onlyFailed')}
            checked={onlyFailed}
            onChange={(event) => setOnlyFailed(event.currentTarget.checked)}
          />
          {shown.length === 0 && <p className="muted">{t('chart.noFailures')}</p>}
          {shown.length > 0 && (
            <Rows label={t('chart.title')} head={head}>
              {shown.map(({ from, to, status0, status5xx, total }) => (
                <tr key={from.getTime()}>
                  <th scope="row">{span(from, to)}</th>
                  <td>{span(from, to, 'UTC')}</td>
                  <td className="num">{number(status0)}</td>
                  <td className="num">{number(status5xx)}</td>
                  <td className="num">{number(total)}</td>
                </tr>
              ))}
            </Rows>
          )}
        </>
      )}
    </details>
  )
}
