import { useState } from 'react'
import type { SettingsResponse, UndoneResponse } from '../../../contract/api.ts'
import { ApiError, call } from '../../api/client.ts'
import { useTexts } from '../../i18n/text.tsx'
import { comesBack, type Entry, storyOf } from '../../logic/audit-story.ts'
import { visible } from '../../logic/visible.ts'
import { Confirm, type Reason } from '../../ui/confirm.tsx'
import { Note } from '../../ui/small.tsx'
import { EntrySentence } from './entry.tsx'
import { UndoEffect } from './undo-effect.tsx'
import { ChangeLines, changedName, changedValue } from './values.tsx'

interface UndoProps {
  readonly entry: Entry
  readonly file: SettingsResponse | null
  /** @param wasNeeded `false` if all was as before already */
  readonly onDone: (wasNeeded: boolean) => void
  readonly onClose: () => void
}

/** A value that somebody has set since, as 412 `changed_since` has it. */
interface Since {
  readonly path: string
  readonly set: unknown
  readonly now: unknown
}

/** Says what comes back with the undo of a change, and does it. */
export function UndoDialog({ entry, file, onDone, onClose }: UndoProps) {
  const { t, number } = useTexts()
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
  const texts = useTexts()
  const { t } = texts
  const isWhole = path === ''
  const nothing = t(isWhole ? 'word.none' : 'audit.asFile')
  const shown = (value: unknown): string => {
    if (value === null || value === undefined) return nothing
    return typeof value === 'object' ? t('undo.something') : changedValue(path, value, texts)
  }
  const name = isWhole ? t('undo.whole') : changedName(path, texts)
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
