import { type ReactNode, useState } from 'react'
import { useSession } from '../api/session.tsx'
import { number, t } from '../i18n/text.ts'
import { Plain } from './small.tsx'

/** A note that stays until somebody has seen it. */
export interface Standing {
  /** Another id means that the note is about something new, so that the note is shown again. */
  readonly id: string
  readonly note: ReactNode
}

/** How many ids are kept, the newest last. */
const MOST = 100

/**
 * Notes about present events, which the signed-in person can acknowledge one by one. That is remembered only in this browser, by the name
 * of the person, so others still see the notes.
 */
export function Acknowledgeable({ of }: { readonly of: readonly Standing[] }) {
  const [seen, change] = useSeen()
  const left = of.filter(({ id }) => !seen.includes(id))
  const gone = of.filter(({ id }) => seen.includes(id))
  return (
    <>
      {left.map(({ id, note }) => (
        <div key={id} className="standing">
          {note}
          <Plain size="compact-xs" onClick={() => change([...seen, id].slice(-MOST))}>
            {t('word.acknowledge')}
          </Plain>
        </div>
      ))}
      {gone.length > 0 && (
        <p className="muted">
          {t('word.acknowledged', { count: number(gone.length) })}{' '}
          <Plain size="compact-xs" onClick={() => change(seen.filter((id) => gone.every((each) => each.id !== id)))}>
            {t('word.showAgain')}
          </Plain>
        </p>
      )}
    </>
  )
}

function useSeen(): [readonly string[], (ids: readonly string[]) => void] {
  const name = `tollgate.acknowledged.${useSession().who?.name ?? ''}`
  const [seen, setSeen] = useState(() => readSeen(name))
  return [
    seen,
    (ids) => {
      localStorage.setItem(name, JSON.stringify(ids))
      setSeen(ids)
    },
  ]
}

function readSeen(name: string): readonly string[] {
  try {
    const ids: unknown = JSON.parse(localStorage.getItem(name) ?? '[]')
    return Array.isArray(ids) ? ids.filter((id) => typeof id === 'string') : []
  } catch {
    return []
  }
}
