import type { TokenResponse } from '../../../contract/api.ts'
import { date, t, time } from '../../i18n/text.ts'
import type { KeyState } from '../../logic/access-keys.ts'
import { visible } from '../../logic/visible.ts'
import type { Column } from '../../ui/data-table.tsx'
import { Ago, Moment } from '../../ui/moment.tsx'
import { Plain } from '../../ui/plain.tsx'
import { Name, Tag, type Tone, WayTo } from '../../ui/small.tsx'

const TONES: Readonly<Record<KeyState, Tone>> = { valid: 'good', expired: 'warn', revoked: 'bad' }

/** @param may whether whoever looks at them may change something */
export function columnsOf(may: boolean, actions: Actions): readonly Column<TokenResponse>[] {
  return [
    {
      id: 'user',
      head: t('word.user'),
      sort: ({ user }) => user,
      cell: ({ user }) => <WayTo page="users" id={user} />,
    },
    {
      id: 'name',
      head: t('keys.name'),
      sort: ({ name }) => name,
      cell: ({ name, plan, organisation }) => (
        <div>
          <Name of={name} /> {plan !== undefined && <Tag>{visible(plan)}</Tag>}{' '}
          {organisation !== undefined && <Tag>{visible(organisation)}</Tag>}
        </div>
      ),
    },
    {
      id: 'created',
      head: t('keys.created'),
      sort: ({ createdAt }) => createdAt,
      // The second is told on hover.
      cell: ({ createdAt: at }) => (
        <time dateTime={at} title={time(at)}>
          {date(Date.parse(at))}
        </time>
      ),
    },
    {
      id: 'expires',
      head: t('keys.expiry'),
      sort: ({ expiresAt }) => expiresAt,
      cell: ({ expiresAt }) => (expiresAt === null ? t('word.never') : <Moment at={expiresAt} />),
    },
    {
      id: 'used',
      head: t('keys.used'),
      sort: ({ lastUsedAt }) => lastUsedAt,
      cell: ({ lastUsedAt }) => (lastUsedAt === null ? t('word.never') : <Ago at={lastUsedAt} />),
    },
    {
      id: 'state',
      head: t('word.state'),
      sort: ({ state }) => t(`keys.state.${state}`),
      cell: ({ state, revokedAt }) => (
        <div>
          <Tag tone={TONES[state]}>{t(`keys.state.${state}`)}</Tag>{' '}
          {revokedAt !== null && <Moment at={revokedAt} isPast />}
        </div>
      ),
    },
    actionOf(may, actions),
  ]
}

interface Actions {
  readonly onRevoke: (key: TokenResponse) => void
  readonly onRotate: (key: TokenResponse) => void
}

function actionOf(may: boolean, { onRevoke, onRotate }: Actions): Column<TokenResponse> {
  const button = (key: TokenResponse, what: 'revoke' | 'rotate', onClick: (key: TokenResponse) => void) => (
    <Plain
      size="compact-xs"
      disabled={!may}
      aria-label={t(`keys.${what}Of`, { name: visible(key.name), user: visible(key.user) })}
      onClick={() => onClick(key)}
    >
      {t(`keys.${what}`)}
    </Plain>
  )
  return {
    id: 'action',
    head: t('word.action'),
    cell: (key) => (
      <span className="key-actions">
        {key.state === 'valid' && button(key, 'rotate', onRotate)}
        {key.revokedAt === null && button(key, 'revoke', onRevoke)}
      </span>
    ),
  }
}
