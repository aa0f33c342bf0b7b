import { type RefObject, useEffect, useRef } from 'react'

/**
 * Takes the focus to the first field of a form that is wrong: it may be far above the button that was pressed.
 * @param findings what is wrong, of the page and of the API: another one for each attempt
 * @returns of the form
 */
export function useFocusWrong(...findings: readonly unknown[]): RefObject<HTMLFormElement | null> {
  const form = useRef<HTMLFormElement>(null)
  // biome-ignore lint/correctness/useExhaustiveDependencies: what is found moves the focus, nothing else
  useEffect(() => form.current?.querySelector<HTMLElement>('[aria-invalid="true"]')?.focus(), findings)
  return form
}
