import { Button } from '@mantine/core'
import { useState } from 'react'
import type { TokensResponse } from '../../../contract/api.ts'
import { call, serverNow } from '../../api/client.ts'
import { usePoll } from '../../api/use-poll.ts'
import { useTexts } from '../../i18n/text.tsx'
import { visible } from '../../logic/visible.ts'
import { Confirm } from '../../ui/confirm.tsx'
import { Name } from '../../ui/small.tsx'

const EVERY_MS = 30_000

/** Revokes all access keys of a user. Of no use if the user has none. */
export function RevokeAll({ user }: { readonly user: string }) {
  const { t, number } = useTexts()
  const poll = usePoll<TokensResponse>(`/api/tokens?${new URLSearchParams({ user })}`, EVERY_MS)
  const [asking, setAsking] = useState(false)
  const keys = (poll.data?.tokens ?? []).filter(isUsable)

  async function revoke(reason: string): Promise<void> {
    try {
      await call('DELETE', `/api/tokens?${new URLSearchParams({ user })}`, { body: reason === '' ? {} : { reason } })
    } finally {
      // Also if nobody knows what became of it.
      await poll.read()
    }
  }
  return (
    <>
      <Button variant="default" disabled={keys.length === 0} onClick={() => setAsking(true)}>
        {t('quick.revoke', { count: number(keys.length) })}
      </Button>
      {asking && (
        <Confirm
          title={t('quick.revoke.title', { count: number(keys.length), name: visible(user) })}
          action={t('quick.doRevoke')}
          danger
          onConfirm={revoke}
          onClose={() => setAsking(false)}
        >
          <p>{t('quick.revoke.text')}</p>
          <ul>
            {keys.map(({ id, name }) => (
              <li key={id}>
                <Name of={name} />
              </li>
            ))}
          </ul>
        </Confirm>
      )}
    </>
  )
}

function isUsable({ revokedAt, expiresAt }: TokensResponse['tokens'][number]): boolean {
  return revokedAt === null && (expiresAt === null || Date.parse(expiresAt) > serverNow())
}
