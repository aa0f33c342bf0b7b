import type { ReasonCode } from '../../contract/api.ts'
import * as format from '../logic/format.ts'
import { en, enReasons, type TextKey } from './en.ts'

/**
 * The words of the page in its present language. Any component may ask for them while it draws, because the whole page is drawn anew when
 * another language is chosen (`onLanguage`).
 */

type Language = format.Language
interface Words {
  readonly texts: Readonly<Record<TextKey, string>>
  readonly reasons: Readonly<Record<ReasonCode, string>>
}
const ENGLISH: Words = { texts: en, reasons: enReasons }

export const LANGUAGES = { en: 'English', zh: '简体中文' } as const
const KEPT = 'tollgate.language'

export let language: Language = 'en'
let words = ENGLISH
const watchers = new Set<() => void>()

/** Calls the watcher after each change of the language. @returns a function that stops it */
export function onLanguage(watcher: () => void): () => void {
  watchers.add(watcher)
  return () => watchers.delete(watcher)
}

/** The language that was asked for last. */
let asked: Language = 'en'

/** Resolves when the page has its texts. If Chinese cannot be loaded, the page stays English. */
export async function speak(next: Language): Promise<void> {
  asked = next
  const loaded = next === 'zh' ? await chinese() : ENGLISH
  if (asked !== next) return
  words = loaded
  language = loaded === ENGLISH ? 'en' : next
  for (const watcher of watchers) watcher()
}

/** English is a part of the page, Chinese is loaded when it is chosen. */
async function chinese(): Promise<Words> {
  try {
    const { zh, zhReasons } = await import('./zh.ts')
    return { texts: zh, reasons: zhReasons }
  } catch {
    // The connection is lost, which the page says by itself.
    return ENGLISH
  }
}

/** Changes the language of the page and keeps the choice in this browser. */
export function setLanguage(next: Language): void {
  localStorage.setItem(KEPT, next)
  void speak(next)
}

/** The language that was chosen before, or the first of the browser's languages that we know, or English. */
export function firstLanguage(): Language {
  const kept = localStorage.getItem(KEPT)
  if (kept === 'en' || kept === 'zh') return kept
  const known = navigator.languages
    .map((tag) => tag.slice(0, 2).toLowerCase())
    .find((tag) => tag === 'en' || tag === 'zh')
  return known === 'zh' ? 'zh' : 'en'
}

type Values = Readonly<Record<string, string | number>>

/** The words of a key, with `{name}` filled in. */
export const t = (key: TextKey, values: Values = {}) => filled(words.texts[key], withLengths(values))
/** The sentence of a reason, with its `{name}` still to fill in. */
export const reason = (code: ReasonCode) => words.reasons[code]

export const number = (value: number) => format.formatNumber(language, value)
export const exact = (value: number) => format.formatExact(language, value)
export const short = (value: number) => format.formatShort(language, value)
export const rate = (perSecond: number) => format.formatRate(language, perSecond)
export const share = (part: number) => format.formatShare(language, part)
export const time = (at: Date | string, timeZone?: string) => format.formatTime(language, at, timeZone)
export const clock = (at: Date) => format.formatClock(language, at)
export const minute = (at: Date) => format.formatMinute(language, at, new Date())
export const day = (at: Date) => format.formatDay(language, at)
export const date = (at: number) => format.formatDate(language, at, false)
export const month = (ends: Parameters<typeof format.formatMonth>[1]) => format.formatMonth(language, ends)
export const dateMinute = (at: number) => format.formatDate(language, at, true)
export const span = (from: Date, to: Date) => format.formatSpan(language, from, to)
export const duration = (ms: number) => format.formatDuration(language, ms)
export const relative = (ms: number) => format.formatRelative(language, ms)
/** The name of a window: in English as the configuration has it, in Chinese in words if it is a count and a unit. */
export const windowName = (name: string) => format.windowName(language, name)

/** A length of time in words, `1 hour` for `1h`. */
export const lengthWords = (name: string) => format.windowWords(language, name)

/** The names of those values in texts that are lengths of time, such as `1h`, as the configuration writes them. */
export const LENGTHS: readonly string[] = ['window', 'every', 'after']

/** The values of a sentence, with lengths of time in its language. */
function withLengths(values: Values): Values {
  const shown = Object.entries(values).map(([name, value]) => [
    name,
    LENGTHS.includes(name) && typeof value === 'string' ? windowName(value) : value,
  ])
  return Object.fromEntries(shown)
}

function filled(text: string, values: Values): string {
  // Because a function replaces, `$&` in a user id stays as it is. A blank separates a Latin word from the Chinese after it.
  return text.replace(/\{(\w+)\}(?=(.)?)/gsu, (hole, name: string, next = '') => {
    const value = String(values[name] ?? hole)
    return /[a-z]$/i.test(value) && /\p{Script=Han}/u.test(next) ? `${value} ` : value
  })
}
