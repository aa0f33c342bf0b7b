import { Button } from '@mantine/core'
import { useState } from 'react'
import type { PersonForgottenResponse } from '../../../contract/api.ts'
import { ApiError, call, isOutcomeUnknown } from '../../api/client.ts'
import type { Polled } from '../../api/use-poll.ts'
import { useTexts } from '../../i18n/text.tsx'
import { visible } from '../../logic/visible.ts'
import { Confirm } from '../../ui/confirm.tsx'
import { messageOf } from '../../ui/failure.tsx'
import { Filled } from '../../ui/filled.tsx'
import { useKept } from '../../ui/kept-state.tsx'
import { Note } from '../../ui/note.tsx'
import { Panel } from '../../ui/panel.tsx'
import { Changing } from '../../ui/small.tsx'

interface PersonProps extends Pick<Polled<unknown>, 'read' | 'reload'> {
  readonly user: string
  /** Of the user in the API. */
  readonly path: string
}

/** What is kept of a user leaves here: as a file, or for good. */
export function Person({ user, path, read, reload }: PersonProps) {
  const { t } = useTexts()
  const [asking, setAsking] = useState(false)
  // Of this one, also if one looks at another one before it is here.
  const [outcome, change] = useKept<PersonForgottenResponse | Error | null>(`forgetting of ${path}`, null)

  async function forget(reason: string): Promise<void> {
    change(() => null)
    try {
      const body = reason === '' ? {} : { body: { reason } }
      const { data } = await call<PersonForgottenResponse>('DELETE', `${path}?forget=1`, body)
      await read()
      change(() => data)
    } catch (caught) {
      // A session that is over has the sign-in say so, and its dialog goes on.
      if (!(caught instanceof ApiError && caught.status === 401)) change(() => caught as Error)
      if (!isOutcomeUnknown(caught)) throw caught
      reload()
    }
  }

  return (
    <Panel title={t('person.title')} text={t('person.text')}>
      <p>
        <a href={`${path}/export`} download="user.json">
          {t('person.export')}
        </a>
      </p>
      <Changing label={t('person.title')}>
        <Button variant="default" onClick={() => setAsking(true)}>
          {t('person.open')}
        </Button>
      </Changing>
      {outcome !== null && !(outcome instanceof Error) && (
        <Note tone="good" live>
          <Filled text={t('person.done')} parts={{ alias: <code>{outcome.alias}</code> }} />
        </Note>
      )}
      {outcome instanceof Error && !asking && <Note tone="bad">{messageOf(outcome, t)}</Note>}
      {asking && (
        <Confirm
          title={t('person.of', { user: visible(user) })}
          action={t('person.do')}
          danger
          onConfirm={forget}
          onClose={() => setAsking(false)}
        >
          <p>{t('person.what')}</p>
          <p>{t('person.stays')}</p>
        </Confirm>
      )}
    </Panel>
  )
}
