import { NativeSelect, TextInput } from '@mantine/core'
import { useState } from 'react'
import type { RefusalsResponse, UsageResponse } from '../../../contract/api.ts'
import { serverNow } from '../../api/client.ts'
import { usePoll } from '../../api/use-poll.ts'
import { month, t, time } from '../../i18n/text.ts'
import { hashOf } from '../../logic/location.ts'
import { monthOf } from '../../logic/range.ts'
import { CategoryChart } from '../../ui/category-chart.tsx'
import { DataTable } from '../../ui/data-table.tsx'
import { bound, useForm } from '../../ui/form.tsx'
import { Loaded, Panel } from '../../ui/panel.tsx'
import { Plain } from '../../ui/small.tsx'
import { RefusalTable } from '../refusals/refusal-table.tsx'
import { useOwn, useOwner } from './own.ts'

const EVERY_MS = 60_000
/** How many months can be chosen: as far back as a configuration can keep days. */
const MONTHS = 13

/** The usage of one owner over the range of the page, and in a month. */
export function OwnUsage() {
  return (
    <>
      <Panel title={t('users.history')}>
        <CategoryChart title={t('users.history')} of={useOwner()} />
      </Panel>
      <Bill />
    </>
  )
}

/** The usage of a month as on its invoice, and its days as a file. */
function Bill() {
  const of = useOwner()
  const day = useOwn().response.periodDay?.day ?? 1
  const [before, setBefore] = useState(1)
  const months = Array.from({ length: MONTHS }, (_, i) => ({ ...monthOf(new Date(serverNow()), i, day), i }))
  const { from = '', to = '' } = months[before] ?? {}
  const { kind } = useOwn().response
  const path = `/api/usage?by=${kind}&${new URLSearchParams(of)}&from=${from}&to=${to}`
  const poll = usePoll<UsageResponse>(`${path}&limit=1000`, EVERY_MS)
  return (
    <Panel title={t('bill.title')} text={t(day === 1 ? 'bill.text' : 'bill.textFromDay', { day })}>
      <div className="actions">
        <NativeSelect
          aria-label={t('bill.month')}
          {...bound(String(before), (text) => setBefore(Number(text)))}
          data={months.map((each) => ({ value: String(each.i), label: month(each) }))}
        />
        <a href={`${path}&format=csv`} download>
          {t('bill.csv')}
        </a>
        <a href={`${path}&step=1d&format=csv`} download>
          {t('bill.csvDays')}
        </a>
      </div>
      <Loaded poll={poll} hasBanner>
        {(response) => <Items response={response} />}
      </Loaded>
    </Panel>
  )
}

function Items({ response: { rows, to, complete, knownSince } }: { readonly response: UsageResponse }) {
  const isBefore = knownSince !== undefined && knownSince >= to
  const items = rows.map(({ category = '', tokens, over = 0 }) => ({ category, tokens, over }))
  const hasOver = items.some(({ over }) => over > 0)
  const sumOf = (of: 'tokens' | 'over') => items.reduce((sum, item) => sum + item[of], 0)
  const total = { category: t('bill.total'), tokens: sumOf('tokens'), over: sumOf('over') }
  return (
    <>
      <DataTable
        look="small"
        label={t('bill.title')}
        columns={[
          { id: 'category', head: t('word.category'), cell: ({ category }) => category },
          { id: 'tokens', head: t('history.tokens'), count: ({ tokens }) => tokens },
          hasOver && { id: 'over', head: t('bill.over'), count: ({ over }) => over },
        ]}
        rows={rows.length === 0 ? [] : [...items, total]}
        none={t(isBefore ? 'bill.unknown' : 'bill.nothing')}
        keyOf={({ category }) => category}
      />
      {!complete && (
        <p className="muted">
          {knownSince === undefined ? t('bill.unkept') : t('bill.knownSince', { time: time(knownSince) })}
        </p>
      )}
    </>
  )
}

const REFUSALS_EVERY_MS = 10_000
const LATEST = 5
/** How much time is shown before and after a moment. */
const NEAR_MS = 30 * 60_000

/** The latest refusals of an owner with their reasons, and a link to those around a moment. */
export function RecentRefusals() {
  const of = useOwner()
  const kind = `${useOwn().response.kind}s` as const
  const query = new URLSearchParams({ ...of, limit: String(LATEST) })
  const poll = usePoll<RefusalsResponse>(`/api/refusals?${query}`, REFUSALS_EVERY_MS)
  return (
    <Panel title={t('page.refusals')} text={t('users.refusals.text')}>
      <Loaded poll={poll} hasBanner>
        {({ refusals }) => (
          <RefusalTable
            label={t('page.refusals')}
            refusals={refusals}
            none={t(`${kind}.refusals.none`)}
            isOfOne={kind === 'users'}
          />
        )}
      </Loaded>
      <p>
        <a href={hashOf('refusals', null, { ...of })}>{t(`${kind}.refusals.all`)}</a>
      </p>
      <AtATime label={t(`${kind}.refusals.at`)} />
    </Panel>
  )
}

function AtATime({ label }: { readonly label: string }) {
  const of = useOwner()
  const [local, setLocal] = useState('')
  const at = Date.parse(local)
  const { problems, form } = useForm({
    check: () => ({ at: Number.isNaN(at) && t('problem.time') }),
    send() {
      const iso = (time: number): string => new Date(time).toISOString()
      const fields = { from: iso(at - NEAR_MS), to: iso(at + NEAR_MS), at: iso(at) }
      location.hash = hashOf('refusals', null, { ...of, ...fields })
    },
  })
  return (
    <form className="wrap ends" {...form}>
      <TextInput type="datetime-local" label={label} {...bound(local, setLocal, problems.at)} />
      <Plain type="submit">{t('users.refusals.look')}</Plain>
    </form>
  )
}
