import { PLAN_WORDS } from './batch-text.ts'
import { SECTION_WORDS } from './form/section.ts'

const WORDS: Readonly<Record<string, number | string>> = { ...SECTION_WORDS, ...PLAN_WORDS }

/**
 * A script with the values in the place of their words. A charge would take longer if the words were variables of Lua, because each
 * function that is made holds on to those that it uses.
 */
export function inWords(lua: string): string {
  return lua.replaceAll(/\b[A-Z]+(?:_[A-Z]+)*\b/g, (word) => (word in WORDS ? JSON.stringify(WORDS[word]) : word))
}
