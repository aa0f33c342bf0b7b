import { Button } from '@mantine/core'
import { type ReactNode, useState } from 'react'
import { useSession } from '../api/session.tsx'
import { number, t } from '../i18n/text.ts'

/** What stands until somebody has seen it. */
export interface Standing {
  /** Another one when it is about something else: then it is shown again. */
  readonly id: string
  readonly note: ReactNode
}

/** Ids that are kept, the newest last. */
const MOST = 100

/**
 * Notes of what goes on, each until whoever is signed in acknowledges it. What was acknowledged is kept in this browser, by the name of the
 * person, and nowhere else: others see the notes still.
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
          <Button size="compact-xs" variant="default" onClick={() => change([...seen, id].slice(-MOST))}>
            {t('word.acknowledge')}
          </Button>
        </div>
      ))}
      {gone.length > 0 && (
        <p className="muted">
          {t('word.acknowledged', { count: number(gone.length) })}{' '}
          <Button
            size="compact-xs"
            variant="default"
            onClick={() => change(seen.filter((id) => gone.every((each) => each.id !== id)))}
          >
            {t('word.showAgain')}
          </Button>
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
