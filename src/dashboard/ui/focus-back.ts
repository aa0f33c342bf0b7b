import { type RefObject, useEffect, useRef } from 'react'

/**
 * Where the focus goes when a part of the page that took it is closed: back to what opened it or, if that is gone or of no use any
 * more, to its table, else to the heading of its panel. Where somebody has put it elsewhere it stays.
 * @param openerOf asked once, before the focus is taken
 */
export function useFocusBack(openerOf: () => Element | null | undefined): void {
  // biome-ignore lint/correctness/useExhaustiveDependencies: what opened it stays what opened it
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

/** For a button that is gone or of no use once it was pressed: the focus goes to its field, or to the heading of its panel. */
export function focusNear(button: Element): void {
  const near = button.closest('.field')?.querySelector('input') ?? headingAround(button)
  near?.focus({ preventScroll: true })
}

/**
 * For a button that cannot be pressed while it waits, and so loses the focus: it has it again afterwards, unless somebody has put
 * it elsewhere.
 */
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
