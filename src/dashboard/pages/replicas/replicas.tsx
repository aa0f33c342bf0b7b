import type { NowResponse } from '../../../contract/api.ts'
import { usePoll } from '../../api/use-poll.ts'
import { duration, rate, t } from '../../i18n/text.ts'
import { type Rates, replicaRates, SPAN } from '../../logic/rates.ts'
import { type Column, counted, DataTable } from '../../ui/data-table.tsx'
import { useLooks } from '../../ui/looks.ts'
import { Moment } from '../../ui/moment.tsx'
import { Loaded, Panel } from '../../ui/panel.tsx'
import { Tag } from '../../ui/small.tsx'
import { AilingNote, ailingOf, ReplicaNotes, SILENT_MS } from './notes.tsx'

const EVERY_MS = 2000
/** The pause of an unused tab, in milliseconds. */
const REST_MS = 15_000

/** The processes that share the store: whether they decide alike, and what each does. */
export function ReplicasPage() {
  const poll = usePoll<NowResponse>('/api/now', EVERY_MS, REST_MS)
  const { looks, left } = useLooks(poll.data)
  const [before, after] = [looks.at(-1 - SPAN), looks.at(-1)]
  const rates = before === undefined || after === undefined ? null : replicaRates(before, after)
  return (
    <Loaded poll={poll}>
      {(now) => (
        <Panel title={t('replicas.title')} text={t('replicas.text')}>
          <ReplicaNotes now={now} left={left} />
          <AilingNote of={ailingOf(now)} />
          {now.replicas !== null && now.replicas.length > 0 && (
            <DataTable
              label={t('page.replicas')}
              columns={columnsOf(now, rates ?? new Map())}
              rows={now.replicas}
              keyOf={({ instance }) => instance}
            />
          )}
        </Panel>
      )}
    </Loaded>
  )
}

type Replica = NonNullable<NowResponse['replicas']>[number]

/** The state of each replica, and what it does in a second. @param rates of the last seconds, by instance; empty until they are known */
function columnsOf(now: NowResponse, rates: ReadonlyMap<string, Rates>): readonly Column<Replica>[] {
  const perSecond = (id: 'requests' | 'refused' | 'failed', head: string): Column<Replica> => ({
    ...{ id, head, isNumber: true },
    sort: ({ instance }) => rates.get(instance)?.[id] ?? 0,
    cell: ({ instance }) => {
      const latest = rates.get(instance)
      return latest === undefined ? '…' : rate(latest[id])
    },
  })
  return [
    {
      ...{ id: 'host', head: t('replicas.host') },
      sort: ({ host, pid }) => `${host} ${pid}`,
      cell: ({ host, pid }) => (
        <>
          {host} <span className="muted">{pid}</span>
        </>
      ),
    },
    { id: 'state', head: t('word.state'), cell: (replica) => <State of={replica} /> },
    {
      ...{ id: 'rules', head: t('now.config') },
      // The hash is compared with that of the replica that serves this page.
      cell: ({ hash }) => (
        <>
          <code className="hash">{hash.slice(0, 12)}</code>{' '}
          {hash !== now.config.hash && <Tag tone="warn">{t('replicas.otherHash')}</Tag>}
        </>
      ),
    },
    {
      ...{ id: 'control', head: t('replicas.control') },
      cell: ({ controlVersion: version }) => (
        <>
          {version} {version < now.controlVersion && <Tag tone="warn">{t('replicas.behind')}</Tag>}
        </>
      ),
    },
    perSecond('requests', t('replicas.requestsRate')),
    perSecond('refused', t('replicas.refusedRate')),
    perSecond('failed', t('replicas.failedRate')),
    counted('inFlight', t('now.inFlight'), ({ counts }) => counts.inFlight),
    counted('sum', t('replicas.requests'), ({ counts }) => counts.requests),
    {
      ...{ id: 'started', head: t('replicas.started') },
      cell: ({ startedAt, version }) => (
        <>
          <Moment at={startedAt} isPast />
          <div className="muted">{t('replicas.version', { version })}</div>
        </>
      ),
    },
  ]
}

function State({ of: { ready, silentMs, reasons, configProblems } }: { readonly of: Replica }) {
  const notes = [...reasons, ...configProblems]
  return (
    <>
      {silentMs > SILENT_MS ? (
        <Tag tone="warn">{t('replicas.silent', { time: duration(silentMs) })}</Tag>
      ) : (
        <Tag tone={ready ? 'good' : 'bad'}>{t(ready ? 'replicas.ready' : 'replicas.notReady')}</Tag>
      )}
      {notes.length > 0 && (
        <ul className="problems" lang="en">
          {notes.map((text) => (
            <li key={text}>{text}</li>
          ))}
        </ul>
      )}
    </>
  )
}
