import { createContext, type ReactNode, useContext, useEffect, useMemo, useState } from 'react'
import type { ReasonCode } from '../../contract/api.ts'
import * as format from '../logic/format.ts'
import { en, enReasons, type TextKey } from './en.ts'

type Language = format.Language
interface Words {
  readonly texts: Readonly<Record<TextKey, string>>
  readonly reasons: Readonly<Record<ReasonCode, string>>
}
const ENGLISH: Words = { texts: en, reasons: enReasons }
/** Those that were loaded. English is a part of the page, others are loaded when they are chosen. */
const LOADED = new Map<Language, Words>([['en', ENGLISH]])

/** Over when there are words of a language; if they cannot be loaded, the page is in English. */
export async function loadWords(language: Language): Promise<void> {
  if (LOADED.has(language)) return
  try {
    const { zh, zhReasons } = await import('./zh.ts')
    LOADED.set('zh', { texts: zh, reasons: zhReasons })
  } catch {
    // The connection is lost, which the page says by itself.
  }
}

type Values = Readonly<Record<string, string | number>>
export const LANGUAGES = { en: 'English', zh: '简体中文' } as const
const KEPT = 'tollgate.language'

export type Texts = ReturnType<typeof textsOf>

const Context = createContext<Texts | null>(null)

export function TextProvider({ children }: { readonly children: ReactNode }) {
  const [language, setLanguage] = useState(firstLanguage)
  useEffect(() => {
    document.documentElement.lang = language === 'zh' ? 'zh-CN' : 'en'
  }, [language])
  const texts = useMemo(() => {
    function choose(next: Language): void {
      localStorage.setItem(KEPT, next)
      void loadWords(next).then(() => setLanguage(next))
    }
    return textsOf(language, choose)
  }, [language])
  return <Context value={texts}>{children}</Context>
}

export function useTexts(): Texts {
  const texts = useContext(Context)
  if (texts === null) throw new Error('no TextProvider')
  return texts
}

function textsOf(language: Language, setLanguage: (language: Language) => void) {
  const { texts: words, reasons } = LOADED.get(language) ?? ENGLISH
  return {
    language,
    setLanguage,
    /** The words of a key, with `{name}` filled in. */
    t: (key: TextKey, values: Values = {}) => filled(words[key], withLengths(language, values)),
    /** The sentence of a reason, with its `{name}` still to fill in. */
    reason: (code: ReasonCode) => reasons[code],
    number: (value: number) => format.formatNumber(language, value),
    exact: (value: number) => format.formatExact(language, value),
    short: (value: number) => format.formatShort(language, value),
    rate: (perSecond: number) => format.formatRate(language, perSecond),
    share: (share: number) => format.formatShare(language, share),
    time: (at: Date | string, timeZone?: string) => format.formatTime(language, at, timeZone),
    clock: (at: Date) => format.formatClock(language, at),
    minute: (at: Date) => format.formatMinute(language, at, new Date()),
    day: (at: Date) => format.formatDay(language, at),
    date: (at: number) => format.formatDate(language, at, false),
    month: (ends: Parameters<typeof format.formatMonth>[1]) => format.formatMonth(language, ends),
    dateMinute: (at: number) => format.formatDate(language, at, true),
    span: (from: Date, to: Date, timeZone?: string) => format.formatSpan(language, from, to, timeZone),
    duration: (ms: number) => format.formatDuration(language, ms),
    relative: (ms: number) => format.formatRelative(language, ms),
    /** The name of a window: in English as the configuration has it, in Chinese in words if it is a count and a unit. */
    windowName: (name: string) => format.windowName(language, name),
  }
}

/** Values of texts that are lengths of time as the configuration writes them. */
export const LENGTHS: readonly string[] = ['window', 'every', 'after']

/** A length of time in a sentence is in its language. */
function withLengths(language: Language, values: Values): Values {
  const shown = Object.entries(values).map(([name, value]) => [
    name,
    LENGTHS.includes(name) && typeof value === 'string' ? format.windowName(language, value) : value,
  ])
  return Object.fromEntries(shown)
}

function filled(text: string, values: Values): string {
  // A replacement by function: `$&` in a user id stays what it is. A word of another script stands apart from Chinese.
  return text.replace(/\{(\w+)\}(?=(.)?)/gsu, (hole, name: string, next = '') => {
    const value = String(values[name] ?? hole)
    return /[a-z]$/i.test(value) && /\p{Script=Han}/u.test(next) ? `${value} ` : value
  })
}

/** What was chosen before, or the first language of the browser that we know. */
export function firstLanguage(): Language {
  const kept = localStorage.getItem(KEPT)
  if (kept === 'en' || kept === 'zh') return kept
  const known = navigator.languages
    .map((tag) => tag.slice(0, 2).toLowerCase())
    .find((tag) => tag === 'en' || tag === 'zh')
  return known === 'zh' ? 'zh' : 'en'
}
