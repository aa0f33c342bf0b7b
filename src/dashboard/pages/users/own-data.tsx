import type { PersonForgottenResponse } from '../../../contract/api.ts'
import { call, serverNow } from '../../api/client.ts'
import type { Polled } from '../../api/use-poll.ts'
import type { TextKey } from '../../i18n/en.ts'
import { useTexts } from '../../i18n/text.tsx'
import { visible } from '../../logic/visible.ts'
import { Filled } from '../../ui/filled.tsx'
import { Panel } from '../../ui/panel.tsx'
import { At } from '../../ui/small.tsx'
import { Deed } from './deed.tsx'

interface ResetProps extends Pick<Polled<unknown>, 'read' | 'reload'> {
  /** Of a user or an organisation. */
  readonly id: string
  /** Of it in the API. */
  readonly path: string
  /** What is emptied. */
  readonly text: TextKey
}

/** Empties the windows of a user or an organisation. */
export function Reset({ id, path, text, ...ways }: ResetProps) {
  const { t } = useTexts()
  return (
    <Panel title={t('reset.title')} text={t(text)}>
      <Deed
        {...ways}
        name={`reset of ${path}`}
        label={t('reset.title')}
        button={t('reset.open')}
        title={`${t('reset.title')}: ${visible(id)}`}
        action={t('reset.do')}
        needsReason
        send={async (body) => {
          await call('POST', `${path}/reset`, { body })
          return { at: new Date(serverNow()).toISOString() }
        }}
        done={({ at }) => (
          <>
            {t('reset.done')} <At at={at} />
          </>
        )}
      >
        <p>{t(text)}</p>
      </Deed>
    </Panel>
  )
}

/** What is kept of a user leaves here: as a file, or for good. */
export function Person({ id, path, ...ways }: Omit<ResetProps, 'text'>) {
  const { t } = useTexts()
  return (
    <Panel title={t('person.title')} text={t('person.text')}>
      <p>
        <a href={`${path}/export`} download="user.json">
          {t('person.export')}
        </a>
      </p>
      <Deed
        {...ways}
        name={`forgetting of ${path}`}
        label={t('person.title')}
        button={t('person.open')}
        title={t('person.of', { user: visible(id) })}
        action={t('person.do')}
        send={async (body) => (await call<PersonForgottenResponse>('DELETE', `${path}?forget=1`, { body })).data}
        done={({ alias }) => <Filled text={t('person.done')} parts={{ alias: <code>{alias}</code> }} />}
      >
        <p>{t('person.what')}</p>
        <p>{t('person.stays')}</p>
      </Deed>
    </Panel>
  )
}
