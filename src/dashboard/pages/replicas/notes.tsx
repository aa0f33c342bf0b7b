import type { NowResponse } from '../../../admin/api.ts'
import { useTexts } from '../../i18n/text.tsx'
import type { Left } from '../../logic/rates.ts'
import { Note } from '../../ui/note.tsx'

/** A replica that has been silent for this long is no longer shown as ready. */
export const SILENT_MS = 5000

/** Whether all replicas decide alike, and those that left since the page was loaded. */
export function ReplicaNotes({ now, left }: { readonly now: NowResponse; readonly left: readonly Left[] }) {
  const { t, number, clock } = useTexts()
  const { replicas, agree } = now
  if (replicas === null || replicas.length === 0) {
    return <p className="muted">{t(replicas === null ? 'now.unknown' : 'replicas.none')}</p>
  }
  const ailing = replicas.filter(({ ready, reasons, configProblems, silentMs }) => {
    return !ready || silentMs > SILENT_MS || reasons.length > 0 || configProblems.length > 0
  })
  return (
    <>
      {agree !== null && (
        <Note tone={agree ? 'good' : 'warn'} live>
          {agree ? t('replicas.agree', { count: number(replicas.length) }) : t('replicas.disagree')}
        </Note>
      )}
      {ailing.length > 0 && (
        <Note tone={ailing.every(({ ready }) => ready) ? 'warn' : 'bad'}>
          {t('replicas.ailing', { names: ailing.map(({ host, pid }) => `${host} ${pid}`).join(', ') })}
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
