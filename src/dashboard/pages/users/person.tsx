import type { PersonForgottenResponse } from '../../../contract/api.ts'
import { call } from '../../api/client.ts'
import type { Polled } from '../../api/use-poll.ts'
import { useTexts } from '../../i18n/text.tsx'
import { visible } from '../../logic/visible.ts'
import { Filled } from '../../ui/filled.tsx'
import { Panel } from '../../ui/panel.tsx'
import { Deed } from './deed.tsx'

interface PersonProps extends Pick<Polled<unknown>, 'read' | 'reload'> {
  readonly user: string
  /** Of the user in the API. */
  readonly path: string
}

/** What is kept of a user leaves here: as a file, or for good. */
export function Person({ user, path, ...ways }: PersonProps) {
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
        title={t('person.of', { user: visible(user) })}
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
