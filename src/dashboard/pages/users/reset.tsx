import { Button } from '@mantine/core'
import { useState } from 'react'
import { ApiError, call, isOutcomeUnknown, serverNow } from '../../api/client.ts'
import type { Polled } from '../../api/use-poll.ts'
import type { TextKey } from '../../i18n/en.ts'
import { useTexts } from '../../i18n/text.tsx'
import { visible } from '../../logic/visible.ts'
import { Confirm } from '../../ui/confirm.tsx'
import { messageOf } from '../../ui/failure.tsx'
import { useKept } from '../../ui/kept-state.tsx'
import { Note } from '../../ui/note.tsx'
import { Panel } from '../../ui/panel.tsx'
import { At, Changing } from '../../ui/small.tsx'

interface ResetProps extends Pick<Polled<unknown>, 'read' | 'reload'> {
  /** Of a user or an organisation. */
  readonly id: string
  /** Of it in the API. */
  readonly path: string
  /** What is emptied. */
  readonly text: TextKey
}

/** Empties the windows of a user or an organisation. */
export function Reset({ id, path, text, read, reload }: ResetProps) {
  const { t } = useTexts()
  const [asking, setAsking] = useState(false)
  // Of this one, also if one looks at another one before it is here.
  const [outcome, change] = useKept<Date | Error | null>(`reset of ${path}`, null)
  async function reset(reason: string): Promise<void> {
    change(() => null)
    try {
      await call('POST', `${path}/reset`, { body: { reason } })
      await read()
      change(() => new Date(serverNow()))
    } catch (caught) {
      // A session that is over has the sign-in say so, and its dialog goes on.
      if (!(caught instanceof ApiError && caught.status === 401)) change(() => caught as Error)
      if (!isOutcomeUnknown(caught)) throw caught
      reload()
    }
  }
  return (
    <Panel title={t('reset.title')} text={t(text)}>
      <Changing label={t('reset.title')}>
        <Button variant="default" onClick={() => setAsking(true)}>
          {t('reset.open')}
        </Button>
      </Changing>
      {outcome instanceof Date && (
        <Note tone="good" live>
          {t('reset.done')} <At at={outcome.toISOString()} />
        </Note>
      )}
      {outcome instanceof Error && !asking && <Note tone="bad">{messageOf(outcome, t)}</Note>}
      {asking && (
        <Confirm
          title={`${t('reset.title')}: ${visible(id)}`}
          action={t('reset.do')}
          danger
          needsReason
          onConfirm={reset}
          onClose={() => setAsking(false)}
        >
          <p>{t(text)}</p>
        </Confirm>
      )}
    </Panel>
  )
}
