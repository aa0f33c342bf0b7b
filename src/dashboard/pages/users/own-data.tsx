import type { ReactNode } from 'react'
import type { PersonForgottenResponse } from '../../../contract/api.ts'
import { ApiError, call, isOutcomeUnknown, serverNow } from '../../api/client.ts'
import { t } from '../../i18n/text.ts'
import { visible } from '../../logic/visible.ts'
import { Ask, type ConfirmProps, type Reason } from '../../ui/confirm.tsx'
import { Failed } from '../../ui/failure.tsx'
import { Filled } from '../../ui/filled.tsx'
import { useKept } from '../../ui/kept-state.tsx'
import { Panel } from '../../ui/panel.tsx'
import { At, Changing, Note } from '../../ui/small.tsx'
import { useOwn } from './own.ts'

/** Empties the windows of a user or an organisation. */
export function Reset() {
  const { response, path } = useOwn()
  const text = t(response.kind === 'user' ? 'reset.text' : 'organisations.reset')
  return (
    <Panel title={t('reset.title')} text={text}>
      <Deed
        name={`reset of ${path}`}
        label={t('reset.title')}
        button={t('reset.open')}
        title={`${t('reset.title')}${t('word.colon')}${visible(response.id)}`}
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
        <p>{text}</p>
      </Deed>
    </Panel>
  )
}

/** Exports or forgets the data that are kept of a user. */
export function Person() {
  const { response, path } = useOwn()
  return (
    <Panel title={t('person.title')} text={t('person.text')}>
      <p>
        <a href={`${path}/export`} download>
          {t('person.export')}
        </a>
      </p>
      <Deed
        name={`forgetting of ${path}`}
        label={t('person.title')}
        button={t('person.open')}
        title={t('person.of', { user: visible(response.id) })}
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

interface DeedProps<T> extends Omit<ConfirmProps, 'onConfirm' | 'onClose'> {
  /** The name under which the outcome is kept, even if somebody leaves the page before the response comes. */
  readonly name: string
  readonly label: string
  readonly button: string
  readonly send: (reason: Reason) => Promise<T>
  readonly done: (made: T) => ReactNode
}

/** A single action for a user or an organisation, with its question and its outcome. */
function Deed<T extends object>({ name, label, button, send, done, ...question }: DeedProps<T>) {
  const { read, reload } = useOwn()
  const [outcome, change] = useKept<T | Error | null>(name, null)
  async function act(reason: Reason): Promise<void> {
    change(() => null)
    try {
      const made = await send(reason)
      await read()
      change(() => made)
    } catch (caught) {
      // After the end of a session the sign-in says so, and this dialog goes on later.
      if (!(caught instanceof ApiError && caught.status === 401)) change(() => caught as Error)
      if (!isOutcomeUnknown(caught)) throw caught
      reload()
    }
  }
  return (
    <Changing label={label}>
      <Ask
        {...question}
        button={button}
        danger
        onConfirm={act}
        outcome={outcome instanceof Error && <Failed error={outcome} />}
      />
      {outcome !== null && !(outcome instanceof Error) && <Note tone="good">{done(outcome)}</Note>}
    </Changing>
  )
}
