import { createHash, randomBytes } from 'node:crypto'
import { isObject } from '../lib/json.ts'
import type { AuditEntry, Author, Forgetting } from './control-store.ts'

export function forgettingOf(user: string): Forgetting {
  return { kind: 'user_forgotten', user, alias: `forgotten-${randomBytes(6).toString('hex')}` }
}

/** The message if nothing was kept of a user. */
export function nothingKeptOf(user: string): string {
  return `Nothing is kept of user ${JSON.stringify(user)}, so nothing was changed.`
}

/** Whether an entry of the audit has an alias instead of a user. */
export function isAlias(subject: string | null): boolean {
  return subject !== null && /^forgotten-[0-9a-f]{12}$/.test(subject)
}

/** A salt for a store. @returns 32 hexadecimal digits */
export function newSalt(): string {
  return randomBytes(16).toString('hex')
}

/** The name under which windows of a forgotten user go on. It is SHA-1, because scripts of Redis have no other hash. */
export function digestOf(salt: string, user: string): string {
  return createHash('sha1').update(`${salt}:${user}`).digest('hex')
}

/**
 * For at least how many milliseconds a store knows that a user was forgotten. By then processes have sent the refusals that they
 * counted before, which are dropped.
 */
export const FORGOTTEN_MS = 60 * 60_000

interface Names extends Pick<Forgetting, 'user' | 'alias'> {
  /** Whether to leave texts alone that are not about the user. Default no. */
  readonly keepsWords?: boolean
}

/** The author, without the name in the reason. */
export function authorWithout(author: Author, names: Names): Author {
  return { ...author, why: author.why === null ? null : textWithout(author.why, names) }
}

/** An entry of the audit without the name. What others wrote about the user is removed too. */
export function entryWithout(entry: AuditEntry, names: Names): AuditEntry {
  const { user, alias } = names
  const isOfUser = entry.subject === user && OF_USERS.has(entry.what)
  const isAbout = isOfUser || isNamed(entry.from, user) || isNamed(entry.to, user)
  return {
    ...entry,
    subject: isOfUser ? alias : entry.subject,
    from: valueWithout(entry.from, names, isAbout),
    to: valueWithout(entry.to, names, isAbout),
    why: entry.why === null ? null : isAbout ? alias : textWithout(entry.why, names),
  }
}

/** Kinds of entries whose subject is a user. */
const OF_USERS: ReadonlySet<AuditEntry['what']> = new Set(['override', 'reset', 'tokens_revoked'])

// No text of an entry contains this.
const NO_ALIAS = '\0'

/** Whether an entry names the user. */
export function names(entry: AuditEntry, user: string): boolean {
  return isOther(entry, { user, alias: NO_ALIAS })
}

/** Whether an entry is about the user. The id as a word in a text does not count. */
export function isAbout(entry: AuditEntry, user: string): boolean {
  return isOther(entry, { user, alias: NO_ALIAS, keepsWords: true })
}

function isOther(entry: AuditEntry, names: Names): boolean {
  return JSON.stringify(entryWithout(entry, names)) !== JSON.stringify(entry)
}

function isNamed(value: unknown, user: string): boolean {
  return isObject(value) && value.user === user
}

/** Members with texts that people write. */
const TEXTS: ReadonlySet<string> = new Set(['why', 'reason', 'name'])

/**
 * A stored value without the name, at any depth. Texts about the user are removed; other texts only lose the name.
 * @param isAbout whether the value is about the user. By default the value itself decides
 */
export function valueWithout<T>(value: T, names: Names, isAbout = false): T {
  if (Array.isArray(value)) return value.map((one) => valueWithout(one, names, isAbout)) as T
  if (!isObject(value)) return value
  const isHere = isAbout || value.user === names.user
  const members = Object.entries(value).map(([key, member]): [string, unknown] => {
    if (key === 'user' && member === names.user) return [key, names.alias]
    if (key === 'overrides' && isObject(member)) return [key, overridesWithout(member, names)]
    if (typeof member !== 'string') return [key, valueWithout(member, names, isHere)]
    if (!TEXTS.has(key)) return [key, member]
    return [key, isHere ? names.alias : textWithout(member, names)]
  })
  return Object.fromEntries(members) as T
}

/** Overrides by user, as the audit has them for a file. */
function overridesWithout(overrides: object, names: Names): Readonly<Record<string, unknown>> {
  const members = Object.entries(overrides).map(([user, override]): [string, unknown] => {
    const isOwn = user === names.user
    return [isOwn ? names.alias : user, valueWithout(override, names, isOwn)]
  })
  return Object.fromEntries(members)
}

/** A shorter name may be a word of any sentence, so it is removed only from a text that consists of it alone. */
const SHORTEST = 4

/** Words that the gateway itself writes around a reason. They name nobody, even if a user is called `scheduled`. */
const OWN_WORDS =
  /(^(?:undo of \d+|(?:begins|ends|is not made) as scheduled by|(?:takes back|keeps) the change of)(?![^ :])|: [\d.]+ % of \d+ weighed requests were refused(?:, and [\d.]+ % may be)?$)/

/** A text without the name, where it is a separate word outside of the gateway's own words. */
function textWithout(text: string, { user, alias, keepsWords = false }: Names): string {
  if (keepsWords) return text
  if ([...user].length < SHORTEST) return text === user ? alias : text
  const name = user.replaceAll(/[\\^$.*+?()[\]{}|/]/g, '\\$&')
  const word = new RegExp(`(?<![\\p{L}\\p{N}_])${name}(?![\\p{L}\\p{N}_])`, 'gu')
  // The gateway's own words are at odd positions.
  const parts = text.split(OWN_WORDS)
  return parts.map((part, i) => (i % 2 === 1 ? part : part.replaceAll(word, alias))).join('')
}
