import { MOST_RUNS } from '../../quota/history.ts'
import { LONGEST_HISTORY } from '../packed-history.ts'
import { PLAN_WORDS } from './batch-text.ts'
import { SECTION_WORDS } from './form/section.ts'

export const WORDS: Readonly<Record<string, number | string>> = {
  ...SECTION_WORDS,
  ...PLAN_WORDS,
  MOST_RUNS,
  LONGEST_HISTORY,
}

/**
 * Replaces the words in a script by their values. Variables of Lua would be slower, because each function that is created has to
 * hold on to those that it uses.
 */
export function inWords(lua: string): string {
  return lua.replaceAll(/\b[A-Z]+(?:_[A-Z]+)*\b/g, (word) => (word in WORDS ? JSON.stringify(WORDS[word]) : word))
}
