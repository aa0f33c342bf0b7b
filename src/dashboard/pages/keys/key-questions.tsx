import { NativeSelect } from '@mantine/core'
import { useState } from 'react'
import type { AuditResponse, TokenResponse } from '../../../contract/api.ts'
import { useLed } from '../../api/session.tsx'
import { usePoll } from '../../api/use-poll.ts'
import { lengthWords, t } from '../../i18n/text.ts'
import { type Entry, wasMadeByLink } from '../../logic/audit-story.ts'
import { visible } from '../../logic/visible.ts'
import { Confirm, type Reason } from '../../ui/confirm.tsx'
import { bound } from '../../ui/form.tsx'
import { Moment } from '../../ui/moment.tsx'
import { Fact, Facts, Name } from '../../ui/small.tsx'
import { ByLink } from './made-key.tsx'

interface QuestionProps<T> {
  readonly accessKey: TokenResponse
  readonly onConfirm: (wish: T) => Promise<void>
  readonly onClose: () => void
}

/** The question before a key is revoked. */
export function Revoke({ accessKey, onConfirm, onClose }: QuestionProps<Reason>) {
  return (
    <Confirm
      title={t('keys.revokeOf', { name: visible(accessKey.name), user: visible(accessKey.user) })}
      action={t('keys.revoke')}
      danger
      onConfirm={onConfirm}
      onClose={onClose}
    >
      <KeyFacts accessKey={accessKey} />
      <p>{t('keys.revokeText')}</p>
    </Confirm>
  )
}

/** Once an hour, because the entry about the creation of a key does not change. */
const EVERY_MS = 3_600_000

/** How long the old key may stay valid. */
const GRACES = ['0m', '1h', '24h', '7d', '30d'] as const
/** The values offered with a link, which is valid for 24 hours. With 1 or 24 hours the old key could end before the link is opened. */
const BESIDE_LINK: readonly string[] = ['0m', '7d', '30d']

/** The body of the request that replaces a key. */
export interface Rotation extends Reason {
  readonly grace: string
  readonly handover?: true
}

/** The question before a key is replaced. */
export function Rotate({ accessKey, onConfirm, onClose }: QuestionProps<Rotation>) {
  const [grace, setGrace] = useState<string>('24h')
  const [chosenLink, setByLink] = useState<boolean | null>(null)
  const making = useMaking(accessKey)
  const byLink = chosenLink ?? wasMadeByLink(making)
  const graces = byLink ? GRACES.filter((value) => BESIDE_LINK.includes(value)) : GRACES
  const chosen = byLink && !BESIDE_LINK.includes(grace) ? '7d' : grace
  const of = { name: visible(accessKey.name), user: visible(accessKey.user) }
  return (
    <Confirm
      title={t('keys.rotateOf', of)}
      action={t('keys.rotate')}
      onConfirm={(reason) => onConfirm({ grace: chosen, ...(byLink && { handover: true }), ...reason })}
      onClose={onClose}
    >
      <KeyFacts accessKey={accessKey} />
      <p>{t('keys.rotateText')}</p>
      <NativeSelect
        label={t('keys.grace')}
        data={graces.map((value) => ({ value, label: value === '0m' ? t('keys.grace.0m') : lengthWords(value) }))}
        {...bound(chosen, setGrace)}
        mb="sm"
      />
      <ByLink checked={byLink} onChange={setByLink} />
    </Confirm>
  )
}

/** The audit entry for the creation of a key; `null` if unknown, or not visible to the caller. */
function useMaking({ id }: TokenResponse): Entry | null {
  const query = new URLSearchParams({ what: 'token_created', about: id })
  const { data } = usePoll<AuditResponse>(useLed() === null ? `/api/audit?${query}` : null, EVERY_MS)
  return data?.entries.find(({ subject }) => subject === id) ?? null
}

/** Identifies the key, because several may have the same user and name. */
function KeyFacts({ accessKey: { id, user, name, createdAt } }: { readonly accessKey: TokenResponse }) {
  return (
    <Facts>
      <Fact name={t('word.user')}>
        <Name of={user} />
      </Fact>
      <Fact name={t('keys.name')}>
        <Name of={name} />
      </Fact>
      <Fact name={t('keys.created')}>
        <Moment at={createdAt} isPast />
      </Fact>
      <Fact name={t('keys.id')}>
        <code>{id}</code>
      </Fact>
    </Facts>
  )
}
