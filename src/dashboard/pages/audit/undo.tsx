import { useEffect, useState } from 'react'
import type { PreviewResponse, SettingsResponse, UndoneResponse, UserResponse } from '../../../contract/api.ts'
import { ApiError, call, PREVIEW } from '../../api/client.ts'
import { useQuota } from '../../api/session.tsx'
import { usePoll } from '../../api/use-poll.ts'
import { number, t } from '../../i18n/text.ts'
import { type Change, comesBack, type Entry, storyOf } from '../../logic/audit-story.ts'
import type { Overridable } from '../../logic/override.ts'
import { fullAfter, type OverrideBack, patchOf, withDefaults } from '../../logic/undo-effect.ts'
import { visible } from '../../logic/visible.ts'
import { Confirm, type Reason } from '../../ui/confirm.tsx'
import { Filled } from '../../ui/filled.tsx'
import { Until } from '../../ui/moment.tsx'
import { Name, Note } from '../../ui/small.tsx'
import { EntrySentence } from './entry.tsx'
import { ChangeLines, changedName, changedValue } from './values.tsx'

interface UndoProps {
  readonly entry: Entry
  readonly file: SettingsResponse | null
  /** @param wasNeeded `false` if everything was as before already */
  readonly onDone: (wasNeeded: boolean) => void
  readonly onClose: () => void
}

/** A value that somebody has set since then, as in 412 `changed_since`. */
interface Since {
  readonly path: string
  readonly set: unknown
  readonly now: unknown
}

/** Shows what the undo of a change restores, and makes it. */
export function UndoDialog({ entry, file, onDone, onClose }: UndoProps) {
  const [since, setSince] = useState<readonly Since[]>([])
  const { version, subject } = entry
  const [changes] = useState(() => comesBack(entry, file))
  const title = subject === null ? t('undo.title', { version }) : t('undo.titleOf', { version, name: visible(subject) })
  async function undo(body: Reason): Promise<void> {
    setSince([])
    try {
      const { data } = await call<UndoneResponse>('POST', `/api/audit/${version}/undo`, { body })
      onDone(data.entry !== null)
    } catch (error) {
      setSince(changedSince(error))
      throw error
    }
  }
  return (
    <Confirm title={title} action={t('undo.button')} onConfirm={undo} onClose={onClose}>
      <p>
        <EntrySentence entry={entry} story={storyOf(entry, file)} isAlone />
      </p>
      {since.length === 0 ? (
        <>
          <p>
            {entry.what === 'overrides' ? t('undo.file', { total: number(totalBefore(entry)) }) : t('undo.comesBack')}
          </p>
          <UndoEffect entry={entry} changes={changes} />
          {entry.what !== 'overrides' && <p className="muted">{t('undo.text')}</p>}
        </>
      ) : (
        <Note tone="warn">
          {since.map((each) => (
            <SinceLine key={each.path} of={each} version={version} />
          ))}
        </Note>
      )}
    </Confirm>
  )
}

/** How many overrides there were before a file. */
function totalBefore({ from }: Entry): number {
  return Number((from as { readonly total?: number } | null)?.total ?? 0)
}

function SinceLine({ of: { path, set, now }, version }: { readonly of: Since; readonly version: number }) {
  const isWhole = path === ''
  const nothing = t(isWhole ? 'word.none' : 'audit.asFile')
  const shown = (value: unknown): string => {
    if (value === null || value === undefined) return nothing
    return typeof value === 'object' ? t('undo.something') : changedValue(path, value)
  }
  const name = isWhole ? t('undo.whole') : changedName(path)
  if (!isWhole || set === null || now === null) {
    return (
      <p>
        {t('undo.changed', {
          name,
          version,
          set: isWhole && set !== null ? t('undo.something') : shown(set),
          now: shown(now),
        })}
      </p>
    )
  }
  return <ChangeLines changes={comesBack({ what: 'override', from: now, to: set } as Entry, null)} />
}

function changedSince(error: unknown): readonly Since[] {
  if (!(error instanceof ApiError) || error.response.error !== 'changed_since') return []
  return (error.response as { readonly changed?: readonly Since[] }).changed ?? []
}

const EVERY_MS = 10_000
/** The preview of an undo looks at every user. */
const PATIENCE_MS = 120_000
const NAMED = 5

interface EffectProps {
  readonly entry: Entry
  /** What the undo changes. */
  readonly changes: readonly Change[]
}

/** The values that come into force with an undo, and whom they would refuse at once. */
function UndoEffect({ entry, changes }: EffectProps) {
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
      // The undo itself reports the error.
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
  const now = usePoll<UserResponse>(`/api/users/${encodeURIComponent(user)}`, EVERY_MS).data
  const quota = useQuota()
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
