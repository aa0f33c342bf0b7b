import { Button } from '@mantine/core'
import { useState } from 'react'
import type { LimitAnswer, UserAnswer } from '../../../admin/api.ts'
import { call, isOutcomeUnknown } from '../../api/client.ts'
import { type Polled, usePoll } from '../../api/use-poll.ts'
import { useTexts } from '../../i18n/text.tsx'
import { hashOf } from '../../logic/location.ts'
import { visible } from '../../logic/visible.ts'
import { Confirm } from '../../parts/confirm.tsx'
import { messageOf } from '../../parts/failure.tsx'
import { Note } from '../../parts/note.tsx'
import { Loaded, PageTitle, Panel } from '../../parts/panel.tsx'
import { Changing, Copyable, Name } from '../../parts/small.tsx'
import { ExplainForm } from './explain.tsx'
import { LimitRows } from './limit-rows.tsx'
import { OverrideEditor } from './override.tsx'

const EVERY_MS = 3000

export function UserPage({ user }: { readonly user: string }) {
  const { t } = useTexts()
  return (
    <>
      <p>
        <a href={hashOf('users')}>← {t('users.back')}</a>
      </p>
      <PageTitle>
        <Name of={user} />
      </PageTitle>
      {isStep(user) ? (
        <Note tone="warn">
          <p>{t('users.dots')}</p>
          <Copyable
            text={`curl -sS --path-as-is -H "Authorization: Bearer $TOLLGATE_ADMIN_TOKEN" ${location.origin}${pathOf(user)}`}
            label={t('users.dots')}
          />
        </Note>
      ) : (
        <User user={user} />
      )}
    </>
  )
}

/** A browser takes these for steps from folder to folder, percent-encoded too, and asks for another address. */
function isStep(user: string): boolean {
  return user === '.' || user === '..'
}

function User({ user }: { readonly user: string }) {
  const poll = usePoll<UserAnswer>(pathOf(user), EVERY_MS)
  return (
    <>
      <Loaded poll={poll}>
        {(answer) => (
          <>
            <Windows answer={answer} />
            <OverrideEditor
              answer={answer}
              etag={poll.etag}
              path={pathOf(user)}
              reload={poll.reload}
              read={poll.read}
            />
            <Reset user={user} read={poll.read} reload={poll.reload} />
          </>
        )}
      </Loaded>
      <ExplainForm user={user} />
    </>
  )
}

function pathOf(user: string): string {
  return `/api/users/${encodeURIComponent(user)}`
}

function Windows({ answer }: { readonly answer: UserAnswer }) {
  const { t } = useTexts()
  const limits = Object.entries(answer.windows).flatMap(([category, list]) =>
    list.map((limit): LimitAnswer & { category: string } => ({ category, ...limit })),
  )
  return (
    <Panel title={t('users.windows')}>
      {limits.length === 0 ? (
        <p className="muted">{t('users.none.windows')}</p>
      ) : (
        <LimitRows label={t('users.windows')} limits={limits} />
      )}
    </Panel>
  )
}

function Reset({ user, read, reload }: { readonly user: string } & Pick<Polled<UserAnswer>, 'read' | 'reload'>) {
  const { t } = useTexts()
  const [asking, setAsking] = useState(false)
  const [done, setDone] = useState<'done' | Error | null>(null)
  async function reset(reason: string): Promise<void> {
    try {
      await call('POST', `${pathOf(user)}/reset`, { body: { reason } })
      await read()
      setDone('done')
    } catch (caught) {
      if (!isOutcomeUnknown(caught)) throw caught
      setDone(caught as Error)
      reload()
    }
  }
  return (
    <Panel title={t('reset.title')} text={t('reset.text')}>
      <Changing label={t('reset.title')}>
        <Button variant="default" onClick={() => setAsking(true)}>
          {t('reset.open')}
        </Button>
      </Changing>
      {done !== null && (
        <Note tone={done === 'done' ? 'good' : 'bad'} live>
          {done === 'done' ? t('reset.done') : messageOf(done, t)}
        </Note>
      )}
      {asking && (
        <Confirm
          title={`${t('reset.title')}: ${visible(user)}`}
          action={t('reset.do')}
          danger
          needsReason
          onConfirm={reset}
          onClose={() => setAsking(false)}
        >
          <p>{t('reset.text')}</p>
        </Confirm>
      )}
    </Panel>
  )
}
