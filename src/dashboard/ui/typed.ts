import { useDebouncedValue } from '@mantine/hooks'

const PAUSE_MS = 300

/**
 * The trimmed text after somebody stopped typing, so that the API is not asked for each letter. Only typing waits. A pressed button
 * takes effect at once, so that no button is pressed on an outdated page.
 */
export function useTyped(text: string): string {
  const [typed] = useDebouncedValue(text.trim(), PAUSE_MS)
  return typed
}
