import { isUtf8 } from 'node:buffer'
import { type Denial, denial } from '../errors.ts'
import { type Member, topLevelMembers } from '../lib/json-members.ts'
import { keyOfJson } from '../lib/json-scalar.ts'

/** What a request costs. */
export type Price = FixedPrice | BodyPrice

export interface FixedPrice {
  readonly kind: 'fixed'
  /** Whole tokens, 0 or more. */
  readonly cost: number
}

/** The price depends on a field at the top level of a JSON body. */
export interface BodyPrice {
  readonly kind: 'body'
  /** Names under which the upstream accepts the field, at least one. A request uses exactly one of them. */
  readonly fields: readonly string[]
  /** Whole tokens for each value the field may have, by its key as json-scalar.ts has it: the number 2 and the text "2" differ. */
  readonly values: ReadonlyMap<string, number>
  /** Largest body in bytes. */
  readonly maxBody: number
}

const JSON_TYPE = /^application\/json[ \t]*(?:;[ \t]*charset=(?:utf-8|"utf-8"))?$/i
/** What may begin an object (RFC 8259 has no other white space). */
const OBJECT = /^[ \t\n\r]*\{/
/** At the top level. A body that has the default size holds hardly more. */
const MAX_MEMBERS = 10_000
/** A name whose other spellings differ in letter case at most. It needs no other comparison, which would take twice as long. */
const PLAIN_NAME = /^[0-9A-Za-z]+$/
/** ASCII without a percent sign. */
const PLAIN_TEXT = /^[ -$&-~]*$/

/**
 * Prices a request by its body. Whatever two parsers could read differently is refused, because a body that says one
 * thing to us and another to the upstream is a cheap way to an expensive answer.
 */
export function priceOfBody(
  price: BodyPrice,
  body: Buffer,
  contentType: string | undefined,
  contentEncoding: string | undefined,
): { readonly cost: number } | Denial {
  if (contentEncoding !== undefined) return refuse('The body of this request must not have a Content-Encoding.')
  if (contentType === undefined || !JSON_TYPE.test(contentType)) {
    return refuse('The body of this request must be application/json in UTF-8.')
  }
  if (body.length > price.maxBody) {
    return denial('payload_too_large', `The body of this request may have at most ${price.maxBody} bytes.`)
  }
  const members = readObject(body)
  if (members === null) return refuse('The body of this request must be a JSON object.')
  if (members.length > MAX_MEMBERS) {
    return refuse(`The JSON object of this request may have at most ${MAX_MEMBERS} members.`)
  }
  return priceOfMembers(price, members)
}

/** Names of a query that are looked at letter by letter, as they hold more than letters and digits. Real requests have a dozen. */
const MAX_ODD_NAMES = 32
/** Octets of such a name. */
const MAX_ODD_NAME = 128

/** What keeps a query from standing beside a priced body. */
export type QueryFault =
  /** It has the name of the priced field. */
  | 'named'
  /** It has so many escaped names, or so long ones, that to look through them would cost more than the request. */
  | 'unclear'

/**
 * Whether a query has the name of the priced field, in any spelling that the body may not have either: many frameworks read
 * the query and the body as one (`$_REQUEST`, `params`, `@RequestParam`), so that the body pays for one value and the other acts.
 *
 * It is read once from left to right, since whoever asks may send 8 KiB of it.
 *
 * @param query as the client sends it, one character for each byte: empty, or `?` and what follows
 */
export function queryFault(price: BodyPrice, query: string): QueryFault | null {
  if (query.length <= 1) return null
  const isPriced = namesOf(price)
  let odd = 0
  let from = 1
  let end = -1
  let isPlain = true
  // No code stands for the end of the query, which ends the last pair as a `&` would.
  for (let at = 1; at <= query.length; at++) {
    const code = query.charCodeAt(at)
    if (code === EQUALS) end = end < 0 ? at : end
    if (code !== AMPERSAND && code !== SEMICOLON && at < query.length) {
      if (end < 0) isPlain &&= isLetterOrDigit(code)
      continue
    }
    if (end < 0) end = at
    if (isPlain ? isPriced.plain(query, from, end) : isOdd(isPriced, query, from, end)) return 'named'
    if (!isPlain && (++odd > MAX_ODD_NAMES || end - from > MAX_ODD_NAME)) return 'unclear'
    from = at + 1
    end = -1
    isPlain = true
  }
  return null
}

function isOdd({ odd }: PricedNames, query: string, from: number, end: number): boolean {
  return end - from <= MAX_ODD_NAME && readingsOf(decoded(query.slice(from, end))).some(odd)
}

interface PricedNames {
  /** Whether a name of letters and digits is one of the fields. */
  readonly plain: (query: string, from: number, to: number) => boolean
  readonly odd: (name: string) => boolean
}

/** Made once for each price. */
const priced = new WeakMap<BodyPrice, PricedNames>()

function namesOf(price: BodyPrice): PricedNames {
  const known = priced.get(price)
  if (known !== undefined) return known
  const odd = spellingsOf(price.fields.map((field) => field.replaceAll('.', '')))
  // Nothing that is plain grows or shrinks when it is folded: most names have another length than the fields.
  const lengths = new Set(price.fields.map((field) => fold(field.replaceAll('.', ''), new Map(), () => true).length))
  const plain = (query: string, from: number, to: number) => lengths.has(to - from) && odd(query.slice(from, to))
  const names = { plain, odd }
  priced.set(price, names)
  return names
}

const AMPERSAND = 0x26
const SEMICOLON = 0x3b
const EQUALS = 0x3d

function isLetterOrDigit(code: number): boolean {
  const letter = code | 0x20
  return (letter >= 0x61 && letter <= 0x7a) || (code >= 0x30 && code <= 0x39)
}

/** `chargeId[]` and `chargeId[0]` are a list of that name, `charge[id]` and `charge.id` a member or `charge_id` (PHP, Rails, qs). */
function readingsOf(name: string): string[] {
  if (!/[[\].]/.test(name)) return [name]
  return [name.split('[', 1)[0] ?? '', name.replace(/[[\]]/g, '')].map((each) => each.replaceAll('.', ''))
}

/** The name of a pair. */
function decoded(name: string): string {
  const spaced = name.replaceAll('+', ' ')
  if (PLAIN_TEXT.test(spaced)) return spaced
  const bytes = spaced.replace(/%([0-9A-Fa-f]{2})/g, (_, hex) => String.fromCharCode(Number.parseInt(hex, 16)))
  return Buffer.from(bytes, 'latin1').toString('utf8')
}

/**
 * The members, of too many only one more than there may be; `null` where the body is anything but one JSON object. A byte order
 * mark is no JSON, and some parsers skip it.
 */
function readObject(body: Buffer): Member[] | null {
  if (!isUtf8(body)) return null
  const text = body.toString('utf8')
  if (!OBJECT.test(text)) return null
  try {
    // Before the whole is parsed, which takes seconds where there are a million of them.
    const members = topLevelMembers(text, MAX_MEMBERS + 1)
    if (members.length <= MAX_MEMBERS) JSON.parse(text)
    return members
  } catch {
    return null
  }
}

function priceOfMembers(price: BodyPrice, members: readonly Member[]): { readonly cost: number } | Denial {
  const isSpelling = spellingsOf(price.fields)
  const candidates = members.filter(({ key }) => isSpelling(key))
  const [member] = candidates
  if (candidates.length > 1) return refuse(`The body must have ${fieldNames(price)} only once, in one spelling.`)
  const value = member !== undefined && price.fields.includes(member.key) ? keyOfJson(member.value) : null
  const cost = value === null ? undefined : price.values.get(value)
  if (cost !== undefined) return { cost }
  const msg = `The body must have ${fieldNames(price)} with one of these values: ${valueNames(price)}.`
  return value === null ? refuse(msg) : refuse(msg, `body_price: ${value.slice(0, MOST_SHOWN)}`)
}

/**
 * Whether a name is one of the fields to some JSON parser or object mapper: by letter case (Go, .NET), as `charge_id` for
 * `chargeId` (protobuf), cut at NUL, without lone surrogates and invisible characters.
 *
 * Character by character, each folded once, and no further than one of the fields begins so: one character may fold to 18, a body has
 * room for 16,000 that differ, and to sort a run of marks takes the square of its length.
 */
function spellingsOf(fields: readonly string[]): (name: string) => boolean {
  const known = new Map<string, string>()
  const folded = fields.map((field) => fold(field, known, () => true))
  const begins = (text: string) => folded.some((field) => field.startsWith(text))
  return (name) => {
    if (known.size > MAX_KNOWN) known.clear()
    return folded.includes(PLAIN_NAME.test(name) ? name.toLowerCase() : fold(name, known, begins))
  }
}

/** Characters whose fold is remembered. */
const MAX_KNOWN = 4096

/** A name as all its spellings have it, or its beginning with which no field begins. */
function fold(name: string, known: Map<string, string>, begins: (text: string) => boolean): string {
  const end = name.indexOf('\0')
  let text = ''
  for (const char of end < 0 ? name : name.slice(0, end)) {
    let folded = known.get(char)
    if (folded === undefined) {
      folded = foldCharacter(char)
      known.set(char, folded)
    }
    text += folded
    if (!begins(text)) break
  }
  return text
}

/** Upper before lower case, since the dotless `ı` is an `i` (to Java) only by way of its upper case. */
function foldCharacter(char: string): string {
  return withoutUnseen(char.normalize('NFKD')).toUpperCase().toLowerCase()
}

/** Marks, invisible characters, and what parts words. */
function withoutUnseen(text: string): string {
  return text.replace(/[\p{M}\p{C}\s_-]/gu, '')
}

/** Characters of an unknown value in the log. */
const MOST_SHOWN = 64

/** @param reason for the log */
function refuse(msg: string, reason = 'body_price'): Denial {
  return denial('bad_request', msg, { reason })
}

/** For a sentence. */
export function fieldNames({ fields }: BodyPrice): string {
  return fields.map((name) => JSON.stringify(name)).join(' or ')
}

function valueNames({ values }: BodyPrice): string {
  return [...values.keys()].join(', ')
}
