import { Button } from '@mantine/core'
import { useEffect, useState } from 'react'
import type { HandedOverResponse } from '../../contract/api.ts'
import { ApiError, call } from '../api/client.ts'
import { t } from '../i18n/text.ts'
import { visible } from '../logic/visible.ts'
import { Failed } from '../ui/failure.tsx'
import { useForm } from '../ui/form.tsx'
import { Copyable, Note } from '../ui/small.tsx'
import { Alone, AloneTitle } from './alone.tsx'

/** The page of an access key's link. The text after `#` in the address opens it. */
export const HANDOVER_PATH = '/handover'

/** Shows an access key once, without a sign-in. Only a button fetches the key, because a chat program may open the link for a preview. */
export function HandoverPage() {
  const [shown, setShown] = useState<HandedOverResponse | null>(null)
  const { error, busy, submit } = useForm({
    async send() {
      const code = location.hash.slice(1)
      setShown((await call<HandedOverResponse>('POST', '/api/handover', { body: { code } })).data)
      // The link is used up, and should not stay in the history of the browser.
      history.replaceState(null, '', HANDOVER_PATH)
    },
  })
  const isOver = error instanceof ApiError && error.response.error === 'not_found'
  const title = t('handover.title')
  useEffect(() => {
    document.title = `${title} · Tollgate`
  }, [title])
  return (
    <Alone>
      <AloneTitle title={title} />
      {isOver && <Note tone="bad">{t('handover.over')}</Note>}
      {shown === null && !isOver && (
        <>
          <p>{t('handover.text')}</p>
          <div className="actions">
            <Button onClick={() => submit()} loading={busy}>
              {t('handover.open')}
            </Button>
          </div>
          <Failed error={error} />
        </>
      )}
      {shown !== null && (
        <Note tone="good" title={t('keys.made', { user: visible(shown.user) })}>
          <p>{t('handover.once')}</p>
          <Copyable text={shown.token} label={title} />
        </Note>
      )}
    </Alone>
  )
}
