import { Fragment, useState } from 'react'
import type { AlertsResponse, AlertTestResponse } from '../../../contract/api.ts'
import { call, serverNow } from '../../api/client.ts'
import { useMayChange } from '../../api/session.tsx'
import { usePoll } from '../../api/use-poll.ts'
import { number, share, t, windowName } from '../../i18n/text.ts'
import { type AlertState, alertStates } from '../../logic/alert-state.ts'
import type { Standing } from '../../ui/acknowledged.tsx'
import { type Column, DataTable } from '../../ui/data-table.tsx'
import { messageOf } from '../../ui/failure.tsx'
import { useForm } from '../../ui/form.tsx'
import { Moment } from '../../ui/moment.tsx'
import { Panel } from '../../ui/panel.tsx'
import { Name, Note, Plain, Tag } from '../../ui/small.tsx'

const EVERY_MS = 15_000
/** The most that the API returns at once, which should include the latest event of each alert. */
const EVENTS = 200

export function useAlerts() {
  return usePoll<AlertsResponse>(`/api/alerts?limit=${EVENTS}`, EVERY_MS)
}

/** Receivers that do not accept their events, and events whose alert is gone. */
export function receiverNotes(alerts: AlertsResponse | null): readonly Standing[] {
  if (alerts === null) return []
  const failing = alertStates(alerts, serverNow()).filter((state) => state.failing !== null)
  return [
    ...failing.map(({ alert: { name, receiver }, failing }) => ({
      id: `failing ${name} ${receiver}`,
      note: <Note tone="warn">{t('alerts.failing', { receiver, alert: name, error: failing ?? '' })}</Note>,
    })),
    ...alerts.former.map(({ name, pending }) => ({
      id: `former ${name}`,
      note: <Note tone="warn">{t('alerts.former', { alert: name, count: number(pending) })}</Note>,
    })),
  ]
}

/** The configured alerts, and whether their receivers accept events. */
export function Alerts({ of }: { readonly of: AlertsResponse }) {
  const may = useMayChange()
  const columns: readonly Column<AlertState>[] = [
    { id: 'name', head: t('alerts.name'), cell: ({ alert }) => <Name of={alert.name} /> },
    { id: 'watches', head: t('alerts.watches'), cell: (state) => <Watches of={state.alert} /> },
    { id: 'state', head: t('word.state'), cell: (state) => <Latest of={state} /> },
    { id: 'delivery', head: t('alerts.delivery'), cell: (state) => <Delivery of={state} /> },
    { id: 'receiver', head: t('alerts.receiver'), cell: ({ alert }) => <code>{alert.receiver}</code> },
    { id: 'test', head: t('word.action'), cell: ({ alert }) => may && <Test alert={alert.name} /> },
  ]
  return (
    <Panel title={t('page.alerts')}>
      {receiverNotes(of).map(({ id, note }) => (
        <Fragment key={id}>{note}</Fragment>
      ))}
      <DataTable
        label={t('page.alerts')}
        columns={columns}
        rows={alertStates(of, serverNow())}
        keyOf={({ alert }) => alert.name}
      />
    </Panel>
  )
}

function Watches({ of: { scope, category, window, at } }: { readonly of: AlertState['alert'] }) {
  const of = `${t(`word.${scope}`)} ${windowWords({ category, window })}`.trimEnd()
  return t('alerts.at', { of, shares: at.map(share).join(t('word.listComma')) })
}

/** `read 1 hour`; empty for an alert that watches no window. */
export function windowWords({ category, window }: Pick<AlertState['alert'], 'category' | 'window'>): string {
  return [category, window === null ? null : windowName(window)].filter((part) => part !== null).join(' ')
}

function Latest({ of: { raised, latest } }: { readonly of: AlertState }) {
  if (latest === null) return <Tag tone="good">{t('alerts.never')}</Tag>
  return (
    <div>
      <Tag tone={raised ? 'warn' : 'good'}>{t(raised ? 'alerts.raised' : 'alerts.over')}</Tag> {share(latest.threshold)}{' '}
      {latest.subject !== null && <Name of={latest.subject} />} <Moment at={latest.at} isPast />
    </div>
  )
}

function Delivery({ of: { alert, delivered } }: { readonly of: AlertState }) {
  return (
    <div>
      {alert.pending > 0 && <Tag tone="warn">{t('alerts.pending', { count: number(alert.pending) })}</Tag>}{' '}
      {delivered === null ? <span className="muted">{t('alerts.nothingYet')}</span> : <Moment at={delivered} isPast />}
    </div>
  )
}

/** Sends a test event to the receiver, and shows its response. */
function Test({ alert }: { readonly alert: string }) {
  const [said, setSaid] = useState<AlertTestResponse | null>(null)
  const { error, busy, submit } = useForm({
    async send() {
      setSaid(null)
      const path = `/api/alerts/${encodeURIComponent(alert)}/test`
      setSaid((await call<AlertTestResponse>('POST', path, { body: {} })).data)
    },
  })
  return (
    <div>
      <Plain size="compact-sm" loading={busy} aria-label={t('alerts.testOf', { alert })} onClick={() => submit()}>
        {t('alerts.test')}
      </Plain>{' '}
      <span aria-live="polite">
        {error && <Tag tone="bad">{messageOf(error)}</Tag>}
        {said && (
          <Tag tone={said.delivered ? 'good' : 'bad'}>
            {said.delivered ? t('alerts.testTaken') : t('alerts.testNotTaken', { error: said.error ?? '' })}
          </Tag>
        )}
      </span>
    </div>
  )
}
