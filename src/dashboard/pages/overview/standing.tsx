import type { AlertsResponse, NowResponse } from '../../../contract/api.ts'
import { serverNow } from '../../api/client.ts'
import { number, share, t } from '../../i18n/text.ts'
import { raisedAlerts } from '../../logic/alert-state.ts'
import { baselinesText } from '../../logic/baselines-text.ts'
import { visible } from '../../logic/visible.ts'
import { Acknowledgeable, type Standing } from '../../ui/acknowledged.tsx'
import { Moment } from '../../ui/moment.tsx'
import { Note } from '../../ui/small.tsx'
import { receiverNotes, useAlerts } from '../alerts/alerts.tsx'
import { AilingNote, ailingOf } from '../replicas/notes.tsx'

/** How many subjects a line names. */
const NAMED = 3

/** Raised alerts, and other faults that stay until somebody repairs them. */
export function StandingNotes({ now }: { readonly now: NowResponse }) {
  const alerts = useAlerts().data
  return <Acknowledgeable of={[...raised(alerts), ...receiverNotes(alerts), ...warningsOf(now)]} />
}

function warningsOf(now: NowResponse): Standing[] {
  const ailing = ailingOf(now)
  const { hash, file } = now.config
  return [
    ...(now.shadow ? [{ id: 'shadow', note: <Note tone="warn">{t('preview.lateShadow')}</Note> }] : []),
    ...(now.unwritten === undefined
      ? []
      : [
          {
            id: `unwritten ${hash}`,
            note: (
              // The limits are shown as the lines that would set them in the file.
              <Note tone="warn" title={t('now.unwritten')}>
                {t('now.unwrittenText', { file })}
                <pre>{baselinesText(now.unwritten)}</pre>
              </Note>
            ),
          },
        ]),
    ...(now.authShadow.on ? [{ id: `auth.shadow ${hash}`, note: <LetIn letIn={now.authShadow.letIn} /> }] : []),
    ...(ailing.length === 0 ? [] : [{ id: `ailing ${ailing.map(whatAils).join()}`, note: <AilingNote of={ailing} /> }]),
  ]
}

function whatAils({ instance, ready, reasons, configProblems }: ReturnType<typeof ailingOf>[number]): string {
  return [instance, ready, ...reasons, configProblems.length].join(' ')
}

/** One note for each alert. When the alert is raised again it is a new note. */
function raised(alerts: AlertsResponse | null): Standing[] {
  if (alerts === null) return []
  return raisedAlerts(alerts, serverNow()).map(({ name, events }) => {
    const [latest] = events
    const subjects = [...new Set(events.flatMap(({ subject }) => (subject === null ? [] : [visible(subject)])))]
    const more = subjects.length - NAMED
    const named = subjects.slice(0, NAMED).join(t('word.listComma'))
    return {
      id: `alert ${latest.id}`,
      note: (
        <Note tone="warn">
          {t('standing.alert', { alert: name, share: share(latest.threshold) })} {named}{' '}
          {more > 0 && t('standing.more', { count: number(more) })} <Moment at={latest.at} isPast />
        </Note>
      ),
    }
  })
}

/** Who would get 401 without `auth.shadow`. */
function LetIn({ letIn }: { readonly letIn: NowResponse['authShadow']['letIn'] }) {
  const counts = letIn === null ? [] : WHY.map((why) => t(`now.letIn.${why}`, { count: number(letIn[why]) }))
  return (
    <Note tone="warn">
      {t('now.authShadow')} {counts.length > 0 && t('now.letIn', { counts: counts.join(t('word.listComma')) })}
    </Note>
  )
}

const WHY = ['missing', 'invalid', 'ambiguous', 'unchecked'] as const
