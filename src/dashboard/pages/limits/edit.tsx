import { createContext, type ReactNode, useContext, useEffect, useRef } from 'react'
import type { SettingsInForceResponse } from '../../../contract/api.ts'
import { t } from '../../i18n/text.ts'
import { type Draft, type Edit, fieldOf, isSetAtRunTime, shownIn, valueAt } from '../../logic/settings.ts'
import { useFields } from '../../ui/address.tsx'
import { focusNear } from '../../ui/focus-back.ts'
import { Plain } from '../../ui/small.tsx'
import { nameOf, shownValue } from './names.ts'

/** What every field of the settings needs. */
export interface Editing {
  readonly quota: SettingsInForceResponse
  readonly draft: Draft
  /** What is wrong with the edit at a path, in words. */
  readonly problemOf: (path: string) => string | undefined
  readonly edit: (path: string, edit: Edit) => void
  readonly undo: (path: string) => void
  /** Makes several edits at once. */
  readonly change: (next: (now: Draft) => Draft) => void
}

export const EditContext = createContext<Editing | null>(null)

export function useEditing(): Editing {
  const editing = useContext(EditContext)
  if (editing === null) throw new Error('no EditContext')
  return editing
}

/** The value of a field: the edit, or the value in force, or the file's value if it will be given back. */
export function useShown(path: string): string | boolean {
  const { quota, draft } = useEditing()
  const edit = draft[path]
  if (edit === null) return shownIn(valueAt(quota.file, path))
  return edit ?? shownIn(valueAt(quota, path))
}

/** The source of the value, and buttons that give it back to the file or undo the edit. */
export function Origin({ path }: { readonly path: string }) {
  const { quota, draft, edit, undo } = useEditing()
  const name = nameOf(path)
  const value = shownValue(valueAt(quota.file, path))
  if (path in draft) {
    return (
      <span className="origin edited">
        {draft[path] === null ? t('quotas.toFileDraft', { value }) : t('quotas.edited')}{' '}
        <Plain
          size="compact-xs"
          aria-label={t('quotas.undoOf', { name })}
          onClick={({ currentTarget }) => {
            focusNear(currentTarget)
            undo(path)
          }}
        >
          {t('undo.button')}
        </Plain>
      </span>
    )
  }
  if (!isSetAtRunTime(quota, path)) return null
  return (
    <span className="origin changed">
      {t('quotas.changed', { value })}{' '}
      <Plain
        size="compact-xs"
        aria-label={t('quotas.toFileOf', { name })}
        title={t('quotas.toFile')}
        onClick={() => edit(path, null)}
      >
        ↺
      </Plain>
    </span>
  )
}

interface SettingProps {
  readonly path: string
  readonly children: ReactNode
}

/** A field of the settings with the source of its value. A link from another page scrolls to it. */
export function Setting({ path, children }: SettingProps) {
  const isWanted = useWanted(path)
  const ref = useRef<HTMLDivElement>(null)
  useEffect(() => {
    if (!isWanted) return
    // In the next frame, because the heading takes the focus when somebody comes to the page.
    const frame = requestAnimationFrame(() => ref.current?.scrollIntoView({ block: 'center' }))
    return () => cancelAnimationFrame(frame)
  }, [isWanted])
  return (
    <div ref={ref} className={`field ${isWanted ? 'wanted' : ''}`} aria-current={isWanted || undefined}>
      {children}
      <Origin path={path} />
    </div>
  )
}

/** Whether the address names the limit that a field makes in the mode of the form. */
function useWanted(path: string): boolean {
  const { scope = '', category = '', window = '', plan } = useFields()
  const { quota } = useEditing()
  const mode = String(useShown('mode') || quota.mode)
  const place = { scope: scope === 'Global' ? 'global' : 'personal', category, window } as const
  if (plan !== undefined) return path === `plans.${plan}.${scope.toLowerCase()}.${category}.${window}`
  return (scope === 'Personal' || scope === 'Global') && path === fieldOf(mode, place)
}
