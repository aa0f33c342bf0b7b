import type { NowResponse } from '../../../contract/api.ts'
import { clock, number, t } from '../../i18n/text.ts'
import type { Left } from '../../logic/rates.ts'
import { Note } from '../../ui/small.tsx'

/** A replica that is silent for longer is no longer shown as ready. */
export const SILENT_MS = 5000

/** Whether all replicas decide alike, and which have left since the page was loaded. */
export function ReplicaNotes({ now, left }: { readonly now: NowResponse; readonly left: readonly Left[] }) {
  const { replicas, agree } = now
  if (replicas === null || replicas.length === 0) {
    return <p className="muted">{t(replicas === null ? 'now.unknown' : 'replicas.none')}</p>
  }
  return (
    <>
      {agree !== null && (
        <Note tone={agree ? 'good' : 'warn'} live title={agree ? undefined : t('replicas.disagree')}>
          {agree ? t('replicas.agree', { count: number(replicas.length) }) : <Disagreement now={now} />}
        </Note>
      )}
      {left.map(({ instance, host, pid, at, requests }) => (
        <Note key={instance} tone="warn">
          {t('replicas.left', { host, pid, time: clock(new Date(at)), count: number(requests) })}
        </Note>
      ))}
    </>
  )
}

/** Replicas that are silent or not ready, or that report reasons or problems of their configuration. */
export function ailingOf({ replicas }: NowResponse): NonNullable<NowResponse['replicas']> {
  return (replicas ?? []).filter(({ ready, reasons, configProblems, silentMs }) => {
    return !ready || silentMs > SILENT_MS || reasons.length > 0 || configProblems.length > 0
  })
}

export function AilingNote({ of }: { readonly of: ReturnType<typeof ailingOf> }) {
  if (of.length === 0) return null
  return (
    <Note tone={of.every(({ ready }) => ready) ? 'warn' : 'bad'}>{t('replicas.ailing', { names: namesOf(of) })}</Note>
  )
}

/** Which replicas differ, and how. */
function Disagreement({ now: { replicas, config, controlVersion } }: { readonly now: NowResponse }) {
  const others = (replicas ?? []).filter(({ hash }) => hash !== config.hash)
  const behind = (replicas ?? []).filter((each) => each.controlVersion < controlVersion)
  return (
    <>
      {others.length > 0 && <p>{t('replicas.others', { names: namesOf(others) })}</p>}
      {behind.length > 0 && <p>{t('replicas.late', { names: namesOf(behind) })}</p>}
    </>
  )
}

type Named = Pick<NonNullable<NowResponse['replicas']>[number], 'host' | 'pid'>

function namesOf(replicas: readonly Named[]): string {
  return replicas.map(({ host, pid }) => `${host} ${pid}`).join(t('word.listComma'))
}
