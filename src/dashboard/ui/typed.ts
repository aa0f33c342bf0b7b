import { useDebouncedValue } from '@mantine/hooks'

const PAUSE_MS = 300

/**
 * A text as it stood when one stopped typing, without blanks around it: the API is not asked for each letter. Only what is typed waits.
 * What is pressed is asked for at once, so that no button is pressed on a page that is another one by then.
 */
export function useTyped(text: string): string {
  const [typed] = useDebouncedValue(text.trim(), PAUSE_MS)
  return typed
}
