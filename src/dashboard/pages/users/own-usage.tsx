import { Button, NativeSelect, TextInput } from '@mantine/core'
import { useState } from 'react'
import type { RefusalsResponse, UsageResponse } from '../../../contract/api.ts'
import { serverNow } from '../../api/client.ts'
import { usePoll } from '../../api/use-poll.ts'
import { month, t, time } from '../../i18n/text.ts'
import type { Owner } from '../../logic/category-usage.ts'
import { hashOf } from '../../logic/location.ts'
import { monthOf } from '../../logic/range.ts'
import { CategoryChart } from '../../ui/category-chart.tsx'
import { DataTable } from '../../ui/data-table.tsx'
import { bound, useForm } from '../../ui/form.tsx'
import { Loaded, Panel } from '../../ui/panel.tsx'
import { RefusalTable } from '../refusals/refusal-table.tsx'

const EVERY_MS = 60_000
/** Months that can be chosen: as far back as a configuration may keep days. */
const MONTHS = 13

interface BillProps {
  readonly of: Owner
  /** With which months begin. */
  readonly day: number
}

/** What one user, or one organisation, used: over the range of the page, and in a month. */
export function OwnUsage({ of, day }: BillProps) {
  return (
    <>
      <Panel title={t('users.history')}>
        <CategoryChart title={t('users.history')} of={of} />
      </Panel>
      <Bill of={of} day={day} />
    </>
  )
}

/** A month as its invoice has it, and the days of it as a file. */
function Bill({ of, day }: BillProps) {
  const [before, setBefore] = useState(1)
  const months = Array.from({ length: MONTHS }, (_, i) => ({ ...monthOf(new Date(serverNow()), i, day), i }))
  const { from = '', to = '' } = months[before] ?? {}
  const kind = 'user' in of ? 'user' : 'organisation'
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
/** What is shown of a moment: half an hour before it and behind it. */
const NEAR_MS = 30 * 60_000

/** The latest refusals of a user, or of all users of an organisation, with their reasons, and the way to those around a moment. */
export function RecentRefusals({ of }: { readonly of: Owner }) {
  const query = new URLSearchParams({ ...of, limit: String(LATEST) })
  const kind = 'user' in of ? 'users' : 'organisations'
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
      <AtATime of={of} label={t(`${kind}.refusals.at`)} />
    </Panel>
  )
}

function AtATime({ of, label }: { readonly of: Owner; readonly label: string }) {
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
      <Button type="submit" variant="default">
        {t('users.refusals.look')}
      </Button>
    </form>
  )
}
