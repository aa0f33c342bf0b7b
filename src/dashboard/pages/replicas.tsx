import type { NowResponse } from '../../admin/api.ts'
import { useTexts } from '../i18n/text.tsx'
import type { Left } from '../logic/rates.ts'
import { Note } from '../ui/note.tsx'
import { Panel, Rows } from '../ui/panel.tsx'
import { At, Tag } from '../ui/small.tsx'

/** A replica that has been silent for this long is worth a word. */
const SILENT_MS = 5000

export function Replicas({ now, left }: { readonly now: NowResponse; readonly left: readonly Left[] }) {
  const { t, number, clock } = useTexts()
  const { replicas, agree } = now
  return (
    <Panel title={t('now.replicas')}>
      {replicas === null || replicas.length === 0 ? (
        <p className="muted">{t(replicas === null ? 'now.unknown' : 'now.noReplicas')}</p>
      ) : (
        <>
          {agree !== null && (
            <Note tone={agree ? 'good' : 'warn'} live>
              {t(agree ? 'now.agree' : 'now.disagree')}
            </Note>
          )}
          {left.map(({ instance, host, pid, at, requests }) => (
            <Note key={instance} tone="warn">
              {t('now.left', { host, pid, time: clock(new Date(at)), count: number(requests) })}
            </Note>
          ))}
          <Rows
            label={t('now.replicas')}
            head={[
              t('now.host'),
              t('now.state'),
              t('now.started'),
              t('word.version'),
              t('now.hash'),
              t('now.control'),
              t('now.requests'),
            ]}
          >
            {replicas.map((replica) => (
              <Row key={replica.instance} replica={replica} now={now} />
            ))}
          </Rows>
        </>
      )}
    </Panel>
  )
}

function Row({
  replica,
  now,
}: {
  readonly replica: NonNullable<NowResponse['replicas']>[number]
  readonly now: NowResponse
}) {
  const { t, number, duration } = useTexts()
  const notes = [...replica.reasons, ...replica.configProblems]
  return (
    <tr>
      <th scope="row">
        {replica.host} <span className="muted">{replica.pid}</span>
      </th>
      <td>
        {replica.silentMs > SILENT_MS ? (
          <Tag tone="warn">{t('now.silent', { time: duration(replica.silentMs) })}</Tag>
        ) : (
          <Tag tone={replica.ready ? 'good' : 'bad'}>{t(replica.ready ? 'now.ready' : 'now.notReady')}</Tag>
        )}
        {notes.length > 0 && (
          <ul className="problems" lang="en">
            {notes.map((text) => (
              <li key={text}>{text}</li>
            ))}
          </ul>
        )}
      </td>
      <td>
        <At at={replica.startedAt} />
      </td>
      <td>{replica.version}</td>
      <td>
        <code className="hash">{replica.hash.slice(0, 12)}</code>{' '}
        {replica.hash !== now.config.hash && <Tag tone="warn">{t('now.otherHash')}</Tag>}
      </td>
      <td>
        {replica.controlVersion}{' '}
        {replica.controlVersion < now.controlVersion && <Tag tone="warn">{t('now.behind')}</Tag>}
      </td>
      <td className="num">{number(replica.counts.requests)}</td>
    </tr>
  )
}
