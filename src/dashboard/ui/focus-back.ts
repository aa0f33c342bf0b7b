import { type RefObject, useEffect, useRef } from 'react'

/**
 * Moves the focus when a part of the page with the focus is closed: back to its opener or, if that is gone or disabled, to its
 * table, or else to the heading of its panel. If somebody has moved the focus, it stays.
 * @param openerOf called once, before the focus is taken
 */
export function useFocusBack(openerOf: () => Element | null | undefined): void {
  // biome-ignore lint/correctness/useExhaustiveDependencies: the opener does not change
  useEffect(() => {
    const opener = openerOf()
    const places = [opener, opener?.closest('.rows'), headingAround(opener)]
    return () => {
      if (document.activeElement !== document.body) return
      for (const place of places) {
        if (!(place instanceof HTMLElement)) continue
        place.focus()
        if (document.activeElement === place) return
      }
    }
  }, [])
}

/** Moves the focus from a button that will be gone or disabled: to the input of its field, or to the heading of its panel. */
export function focusNear(button: Element): void {
  const near = button.closest('.field')?.querySelector('input') ?? headingAround(button)
  near?.focus({ preventScroll: true })
}

/** Gives the focus back to a button that lost it by being disabled while it waits, unless somebody has moved the focus meanwhile. */
export function useFocusKept(isWaiting: boolean): RefObject<HTMLButtonElement | null> {
  const button = useRef<HTMLButtonElement>(null)
  useEffect(() => {
    if (!isWaiting || document.activeElement !== button.current) return
    return () => {
      if (document.activeElement === document.body) button.current?.focus()
    }
  }, [isWaiting])
  return button
}

function headingAround(element: Element | null | undefined) {
  return element?.closest('.panel')?.querySelector('h2')
}
