import type { TokensResponse } from '../../../contract/api.ts'
import { call, serverNow } from '../../api/client.ts'
import { usePoll } from '../../api/use-poll.ts'
import { useTexts } from '../../i18n/text.tsx'
import { visible } from '../../logic/visible.ts'
import { Ask, type Reason } from '../../ui/confirm.tsx'
import { Name } from '../../ui/small.tsx'

const EVERY_MS = 30_000

/** Revokes all access keys of a user. Of no use if the user has none. */
export function RevokeAll({ user }: { readonly user: string }) {
  const { t, number } = useTexts()
  const poll = usePoll<TokensResponse>(`/api/tokens?${new URLSearchParams({ user })}`, EVERY_MS)
  const keys = (poll.data?.tokens ?? []).filter(isUsable)

  async function revoke(body: Reason): Promise<void> {
    try {
      await call('DELETE', `/api/tokens?${new URLSearchParams({ user })}`, { body })
    } finally {
      // Also if nobody knows what became of it.
      await poll.read()
    }
  }
  return (
    <Ask
      button={t('quick.revoke', { count: number(keys.length) })}
      disabled={keys.length === 0}
      title={t('quick.revoke.title', { count: number(keys.length), name: visible(user) })}
      action={t('quick.doRevoke')}
      danger
      onConfirm={revoke}
    >
      <p>{t('quick.revoke.text')}</p>
      <ul>
        {keys.map(({ id, name }) => (
          <li key={id}>
            <Name of={name} />
          </li>
        ))}
      </ul>
    </Ask>
  )
}

function isUsable({ revokedAt, expiresAt }: TokensResponse['tokens'][number]): boolean {
  return revokedAt === null && (expiresAt === null || Date.parse(expiresAt) > serverNow())
}
