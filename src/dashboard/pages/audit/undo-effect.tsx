import { useEffect, useState } from 'react'
import type { PreviewResponse, QuotaResponse, UserResponse } from '../../../contract/api.ts'
import { call, PREVIEW } from '../../api/client.ts'
import { usePoll } from '../../api/use-poll.ts'
import { useTexts } from '../../i18n/text.tsx'
import type { Change, Entry } from '../../logic/audit-story.ts'
import type { Overridable } from '../../logic/override.ts'
import { fullAfter, type OverrideBack, patchOf, withDefaults } from '../../logic/undo-effect.ts'
import { visible } from '../../logic/visible.ts'
import { Filled } from '../../ui/filled.tsx'
import { Until } from '../../ui/moment.tsx'
import { Name, Note } from '../../ui/small.tsx'
import { ChangeLines } from './values.tsx'

const EVERY_MS = 10_000
/** Every user is looked at. */
const PATIENCE_MS = 120_000
const NAMED = 5

interface EffectProps {
  readonly entry: Entry
  /** What the undo changes. */
  readonly changes: readonly Change[]
}

/** The values that come into force with an undo, and whom they would refuse at once. */
export function UndoEffect({ entry, changes }: EffectProps) {
  if (entry.what === 'settings') return <OfSettings changes={changes} />
  if (entry.what === 'override' && entry.subject !== null) {
    return <OfUser user={entry.subject} back={entry.from as OverrideBack | null} changes={changes} />
  }
  return <ChangeLines changes={changes} />
}

function OfSettings({ changes }: Pick<EffectProps, 'changes'>) {
  const [patch] = useState(() => patchOf(changes))
  const [found, setFound] = useState<PreviewResponse | null>(null)
  useEffect(() => {
    const stop = new AbortController()
    call<PreviewResponse>('POST', PREVIEW, { body: patch, signal: stop.signal, patienceMs: PATIENCE_MS })
      .then(({ data }) => setFound(data))
      // The undo says what is wrong itself.
      .catch(() => {})
    return () => stop.abort()
  }, [patch])
  return (
    <>
      <ChangeLines changes={changes} />
      {found !== null && <Blocked found={found} />}
    </>
  )
}

function Blocked({ found: { blocked, newlyBlockedCount, scanned } }: { readonly found: PreviewResponse }) {
  const { t, number } = useTexts()
  const users = [...new Set(blocked.filter(({ blockedNow }) => !blockedNow).map(({ user }) => visible(user)))]
  const names = users.slice(0, NAMED).join(t('word.listComma'))
  return (
    <Note tone={newlyBlockedCount > 0 ? 'warn' : 'info'} live>
      {newlyBlockedCount === 0
        ? t('undo.blocksNobody', { users: number(scanned) })
        : t(newlyBlockedCount > users.slice(0, NAMED).length ? 'undo.blocksMore' : 'undo.blocks', {
            count: number(newlyBlockedCount),
            names,
          })}
    </Note>
  )
}

interface OfUserProps extends Pick<EffectProps, 'changes'> {
  readonly user: string
  readonly back: OverrideBack | null
}

function OfUser({ user, back, changes }: OfUserProps) {
  const { t, number } = useTexts()
  const now = usePoll<UserResponse>(`/api/users/${encodeURIComponent(user)}`, EVERY_MS).data
  const quota = usePoll<QuotaResponse>('/api/quota', EVERY_MS).data
  if (now === null || quota === null) return <ChangeLines changes={changes} />
  const of: Overridable = { kind: 'user', id: user, ...now }
  return (
    <>
      <ChangeLines changes={withDefaults(changes, back, of, quota)} />
      {fullAfter(back, of, quota).map(({ category, window, used, limit, resetAt }) => (
        <Note key={`${category} ${window}`} tone="warn" live>
          <Filled
            text={t(resetAt == null ? 'undo.overAll' : 'undo.over', {
              ...{ category, window, used: number(used), limit: number(limit) },
            })}
            parts={{ user: <Name of={user} />, at: resetAt != null && <Until at={resetAt} /> }}
          />
        </Note>
      ))}
    </>
  )
}
