import { jsonFault } from './json-fault.ts'
import { didYouMean } from './suggest.ts'

/** Texts with placeholders like `{{name}}`. A filled value can never become more than text. */

export type TextKind = 'json' | 'markup' | 'plain'

/** The values, which are put in as a text or in the form of JSON; `null` for none. */
export type Values = Readonly<Record<string, string | number | null>>

/** The fixed texts of a template, and its places. Plain data. */
export type Template = readonly (string | Hole)[]

export interface Hole {
  readonly name: string
  /** `value`: a value of JSON, in quotes if it is a text. `string`: a part of a text in quotes. */
  readonly as: 'value' | 'string' | 'markup' | 'plain'
}

/** The names of placeholders, and whether each is a number. */
export type Names = ReadonlyMap<string, 'text' | 'number'>

const HOLE = /\{\{\s*([^{}]*?)\s*\}\}/g

/** @returns the template, or what is wrong with the text and how to mend it */
export function parseTemplate(text: string, kind: TextKind, names: Names): { value: Template } | { problem: string } {
  const parts: (string | Hole)[] = []
  let at = 0
  for (const { 0: whole, 1: name = '', index } of text.matchAll(HOLE)) {
    const before = text.slice(0, index)
    const problem = problemOf(name, before, kind, names)
    if (problem !== null) return { problem: `line ${before.split('\n').length}: ${whole} ${problem}` }
    parts.push(text.slice(at, index), { name, as: placeOf(before, kind) })
    at = index + whole.length
  }
  const rest = text.slice(at)
  const open = rest.indexOf('{{')
  if (open >= 0) {
    const line = text.slice(0, at + open).split('\n').length
    return { problem: `line ${line}: "{{" begins no placeholder: write one like {{msg}}` }
  }
  const template = [...parts, rest].filter((part) => part !== '')
  const fault = kind === 'json' ? faultOf(template, names) : null
  return fault === null ? { value: template } : { problem: `is no JSON once it is filled: ${fault}` }
}

function problemOf(name: string, before: string, kind: TextKind, names: Names): string | null {
  const type = names.get(name)
  if (type === undefined) {
    const all = `; the placeholders here are ${[...names.keys()].join(', ')}`
    return `is no placeholder${didYouMean(name, names.keys()) || all}`
  }
  if (kind !== 'markup' || type === 'number' || !isWithinMarkup(before)) return null
  return 'stands within a tag, a script or the like, where a text could become a part of it: put it between tags, and write other "<" as &lt;'
}

const MARKUP =
  /<!--[\s\S]*?-->|<(script|style)\b[\s\S]*?<\/\1\s*>|<(?!!--|!\[|(?:script|style)\b)(?:[^<>"']|"[^"]*"|'[^']*')*>/gi

/** Whether a tag that began with `<` has not ended. */
function isWithinMarkup(before: string): boolean {
  return before.replace(MARKUP, '').includes('<')
}

function placeOf(before: string, kind: TextKind): Hole['as'] {
  if (kind !== 'json') return kind
  // Placeholders hold no quotes, and an escaped quote ends no text.
  const quotes = before.replace(/\\./g, '').split('"').length - 1
  return quotes % 2 === 1 ? 'string' : 'value'
}

/** Finds a fault of JSON by filling the template once with all values and once with none; `null` if there is no fault. */
function faultOf(template: Template, names: Names): string | null {
  const full = Object.fromEntries([...names].map(([name, type]) => [name, type === 'number' ? 1 : '"\\']))
  const none = Object.fromEntries([...names.keys()].map((name) => [name, null]))
  return jsonFault(fill(template, full)) ?? jsonFault(fill(template, none))
}

export function fill(template: Template, values: Values): string {
  return template
    .map((part) => (typeof part === 'string' ? part : written(values[part.name] ?? null, part.as)))
    .join('')
}

function written(value: string | number | null, as: Hole['as']): string {
  if (as === 'value') return JSON.stringify(value)
  if (value === null) return ''
  const text = String(value)
  if (as === 'string') return JSON.stringify(text).slice(1, -1)
  const shown = text.replace(CONTROLS, ' ')
  return as === 'markup' ? shown.replace(/[&<>"'`]/g, (char) => `&#${char.charCodeAt(0)};`) : shown
}

/** Control characters, which become blanks. None of them is shown, XML does not allow all, and a terminal takes some for commands. */
const CONTROLS = /[\x00-\x1f\x7f-\x9f]/g
