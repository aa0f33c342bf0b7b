import type { AlertsResponse } from '../../../contract/api.ts'
import { serverNow } from '../../api/client.ts'
import { number, share, t } from '../../i18n/text.ts'
import { endsOf } from '../../logic/range.ts'
import { changeFields, useFields } from '../../ui/address.tsx'
import { type Column, counted, DataTable } from '../../ui/data-table.tsx'
import { Choice } from '../../ui/form.tsx'
import { Moment } from '../../ui/moment.tsx'
import { Loaded, Panel } from '../../ui/panel.tsx'
import { useRange } from '../../ui/range.tsx'
import { Name, Tag, WayTo } from '../../ui/small.tsx'
import './alerts.css'
import { Alerts, useAlerts, windowWords } from './alerts.tsx'

type AlertEvent = AlertsResponse['events'][number]

/** The configured alerts, and each event with its subject and its delivery. */
export function AlertsPage() {
  const poll = useAlerts()
  return (
    <Loaded poll={poll}>
      {(response) => (
        <>
          {response.alerts.length + response.former.length === 0 ? (
            <Panel title={t('page.alerts')}>
              <p role="status">{t('alerts.noneConfigured')}</p>
              <pre className="alert-example">{EXAMPLE}</pre>
            </Panel>
          ) : (
            <Alerts of={response} />
          )}
          {response.events.length > 0 && <Events events={response.events} />}
        </>
      )}
    </Loaded>
  )
}

const EXAMPLE = `alerts:
  - name: global-read
    scope: global
    category: read
    window: 1d
    at: [80%, 100%]
    webhook: { url: "https://hooks.example.org/T0", secret: "\${ALERTS_SECRET}" }`

function Events({ events }: { readonly events: readonly AlertEvent[] }) {
  const { alert = '' } = useFields()
  const { from, to } = endsOf(useRange(), serverNow())
  const names = [...new Set(events.map((event) => event.alert))].sort()
  const shown = events.filter((event) => {
    const at = Date.parse(event.at)
    return (alert === '' || event.alert === alert) && at >= from && at <= to
  })
  return (
    <Panel title={t('alerts.events')} text={t('alerts.eventsText')}>
      <Choice
        className="alert-choice"
        {...{ label: t('alerts.name'), none: t('refusals.any'), value: alert, values: names }}
        onChoose={(alert) => changeFields({ alert })}
      />
      <DataTable
        look="lines"
        label={t('alerts.events')}
        columns={eventColumns()}
        rows={shown}
        none={t('alerts.noEvents')}
        keyOf={({ id }) => id}
      />
    </Panel>
  )
}

const TONES = { pending: 'warn', delivered: 'good', given_up: 'bad' } as const

function eventColumns(): readonly Column<AlertEvent>[] {
  return [
    { id: 'alert', head: t('alerts.name'), sort: (event) => event.alert, cell: (event) => <Name of={event.alert} /> },
    { id: 'at', head: t('alerts.when'), sort: ({ at }) => Date.parse(at), cell: ({ at }) => <Moment at={at} isPast /> },
    {
      id: 'subject',
      head: t('alerts.subject'),
      sort: ({ subject }) => subject ?? '',
      cell: (event) => <Subject of={event} />,
    },
    {
      ...{ id: 'reached', head: t('alerts.reached'), isNumber: true },
      sort: ({ threshold }) => threshold,
      cell: ({ threshold, used, limit, category, window }) =>
        t('alerts.reachedOf', {
          share: share(threshold),
          used: number(used),
          limit: number(limit),
          of: windowWords({ category, window }),
        }),
    },
    {
      ...{ id: 'state', head: t('alerts.delivery') },
      sort: ({ state }) => state,
      cell: (event) => <Outcome of={event} />,
    },
    counted('tries', t('alerts.tries'), ({ attempts }) => attempts),
  ]
}

function Subject({ of: { scope, subject } }: { readonly of: AlertEvent }) {
  if (subject === null) return t(`word.${scope}`)
  return <WayTo page={scope === 'organisation' ? 'organisations' : 'users'} id={subject} />
}

function Outcome({ of: { state, doneAt, nextAttemptAt, lastError } }: { readonly of: AlertEvent }) {
  const at = doneAt ?? nextAttemptAt
  return (
    <div>
      <Tag tone={TONES[state]}>{t(`alerts.is.${state}`)}</Tag>{' '}
      {at !== null && <Moment at={at} isPast={doneAt !== null} />}
      {state !== 'delivered' && lastError !== null && <span className="muted">{lastError}</span>}
    </div>
  )
}
