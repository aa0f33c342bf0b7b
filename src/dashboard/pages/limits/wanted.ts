import { type RefObject, useEffect, useRef } from 'react'
import { fieldOf } from '../../logic/settings.ts'
import { useFields } from '../../ui/address.tsx'
import { useEditing, useShown } from './edit.tsx'

/** For the element that a link of another page leads to. */
interface Wanted<T> {
  readonly ref: RefObject<T | null>
  readonly 'aria-current': true | undefined
  readonly className: string | undefined
}

/** Whether the address names the limit that a field makes in the mode of the form. @param path of the field */
export function useWantedField(path: string): Wanted<HTMLDivElement> {
  const [{ scope = '', category = '', window = '', plan }] = useFields()
  const { quota } = useEditing()
  const mode = String(useShown('mode') || quota.mode)
  const place = { scope: scope === 'Global' ? 'global' : 'personal', category, window } as const
  const ofPlan = `plans.${plan}.${scope.toLowerCase()}.${category}.${window}`
  const isPersonalOrGlobal = scope === 'Personal' || scope === 'Global'
  return useShownFirst(plan === undefined ? isPersonalOrGlobal && fieldOf(mode, place) === path : ofPlan === path)
}

/** Comes into the window once. */
function useShownFirst<T extends HTMLElement>(isWanted: boolean): Wanted<T> {
  const ref = useRef<T>(null)
  useEffect(() => {
    if (!isWanted) return
    // Behind the heading, which takes the focus when one comes to the page.
    const frame = requestAnimationFrame(() => ref.current?.scrollIntoView({ block: 'center' }))
    return () => cancelAnimationFrame(frame)
  }, [isWanted])
  return { ref, 'aria-current': isWanted || undefined, className: isWanted ? 'wanted' : undefined }
}
