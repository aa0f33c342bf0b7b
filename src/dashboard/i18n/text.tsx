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

export interface Texts {
  readonly language: Language
  readonly setLanguage: (language: Language) => void
  /** The words of a key, with `{name}` filled in. */
  readonly t: (key: TextKey, values?: Values) => string
  /** The sentence of a reason, with its `{name}` still to fill in. */
  readonly reason: (code: ReasonCode) => string
  readonly number: (value: number) => string
  readonly exact: (value: number) => string
  readonly short: (value: number) => string
  readonly rate: (perSecond: number) => string
  readonly share: (share: number) => string
  readonly time: (at: Date | string, timeZone?: string) => string
  readonly clock: (at: Date) => string
  readonly minute: (at: Date) => string
  readonly day: (at: Date) => string
  readonly date: (at: number) => string
  readonly dateMinute: (at: number) => string
  readonly month: (day: string) => string
  readonly span: (from: Date, to: Date, timeZone?: string) => string
  readonly duration: (ms: number) => string
  readonly relative: (ms: number) => string
  /** The name of a window: in English as the configuration has it, in Chinese in words if it is a count and a unit. */
  readonly windowName: (name: string) => string
}

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

function textsOf(language: Language, setLanguage: Texts['setLanguage']): Texts {
  const { texts: words, reasons } = LOADED.get(language) ?? ENGLISH
  return {
    language,
    setLanguage,
    t: (key, values = {}) => filled(words[key], withLengths(language, values)),
    reason: (code) => reasons[code],
    number: (value) => format.formatNumber(language, value),
    exact: (value) => format.formatExact(language, value),
    short: (value) => format.formatShort(language, value),
    rate: (perSecond) => format.formatRate(language, perSecond),
    share: (share) => format.formatShare(language, share),
    time: (at, timeZone) => format.formatTime(language, at, timeZone),
    clock: (at) => format.formatClock(language, at),
    minute: (at) => format.formatMinute(language, at, new Date()),
    day: (at) => format.formatDay(language, at),
    date: (at) => format.formatDate(language, at, false),
    month: (day) => format.formatMonth(language, day),
    dateMinute: (at) => format.formatDate(language, at, true),
    span: (from, to, timeZone) => format.formatSpan(language, from, to, timeZone),
    duration: (ms) => format.formatDuration(language, ms),
    relative: (ms) => format.formatRelative(language, ms),
    windowName: (name) => format.windowName(language, name),
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
  // A replacement by function: `$&` in a user id stays what it is.
  return text.replace(/\{(\w+)\}/g, (hole, name: string) => String(values[name] ?? hole))
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
