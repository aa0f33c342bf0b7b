import { onceForEach } from '../lib/memo.ts'
import { fold, spellingsOf } from './spellings.ts'

/** Names in a query, as any service may read them. */

/** ASCII without a percent sign. */
const PLAIN_TEXT = /^[ -$&-~]*$/
/** The most names of a query with other characters than letters and digits. Real requests have a dozen. */
const MAX_ODD_NAMES = 32
/** The most octets of such a name. */
const MAX_ODD_NAME = 128

/** The number of pairs of a query that have a name. */
export interface NamedPairs {
  readonly count: number
  /** Whether the query has so many or so long escaped names that to check them would cost more than the request. */
  readonly isUnclear: boolean
}

const NONE: NamedPairs = { count: 0, isUnclear: false }

/**
 * How many pairs of a query have one of some names, in any spelling that a member of a body may not have either, and in the forms of
 * all frameworks: `a[]`, `a.b` and `a[b]` too.
 *
 * The query is read once from left to right, because a client may send 8 KiB of it.
 *
 * @param names always the same object for the same names
 * @param query as the client sends it, one character for each byte: empty, or `?` and the text after it
 */
export function pairsNamed(names: readonly string[], query: string): NamedPairs {
  if (query.length <= 1 || names.length === 0) return NONE
  const isNamed = matcherOf(names)
  let count = 0
  let odd = 0
  let from = 1
  let end = -1
  let isPlain = true
  // At the end of the query the code is NaN, which ends the last pair as a `&` would.
  for (let at = 1; at <= query.length; at++) {
    const code = query.charCodeAt(at)
    if (code === EQUALS) end = end < 0 ? at : end
    if (code !== AMPERSAND && code !== SEMICOLON && code !== QUESTION_MARK && at < query.length) {
      if (end < 0) isPlain &&= isLetterOrDigit(code)
      continue
    }
    if (end < 0) end = at
    if (isPlain ? isNamed.plain(query, from, end) : isOdd(isNamed, query, from, end)) count++
    else if (!isPlain && (++odd > MAX_ODD_NAMES || end - from > MAX_ODD_NAME)) return { count, isUnclear: true }
    from = at + 1
    end = -1
    isPlain = true
  }
  return count === 0 ? NONE : { count, isUnclear: false }
}

function isOdd({ odd }: Matcher, query: string, from: number, end: number): boolean {
  return end - from <= MAX_ODD_NAME && readingsOf(decoded(query.slice(from, end))).some(odd)
}

interface Matcher {
  /** Whether a name of letters and digits is one of the names. */
  readonly plain: (query: string, from: number, to: number) => boolean
  readonly odd: (name: string) => boolean
}

const matcherOf = onceForEach((names: readonly string[]): Matcher => {
  const undotted = names.map((name) => name.replaceAll('.', ''))
  const odd = spellingsOf(undotted)
  // A plain name keeps its length when it is folded, and most names have another length than these.
  const lengths = new Set(undotted.map((name) => fold(name, new Map(), () => true).length))
  const plain = (query: string, from: number, to: number) => lengths.has(to - from) && odd(query.slice(from, to))
  return { plain, odd }
})

const AMPERSAND = 0x26
const SEMICOLON = 0x3b
const EQUALS = 0x3d
/** Some frameworks begin the query at its last question mark. */
const QUESTION_MARK = 0x3f

function isLetterOrDigit(code: number): boolean {
  const letter = code | 0x20
  return (letter >= 0x61 && letter <= 0x7a) || (code >= 0x30 && code <= 0x39)
}

/** `chargeId[]` and `chargeId[0]` are a list of that name, `charge[id]` and `charge.id` a member or `charge_id` (PHP, Rails, qs). */
function readingsOf(name: string): string[] {
  if (!/[[\].]/.test(name)) return [name]
  return [name.split('[', 1)[0] ?? '', name.replace(/[[\]]/g, '')].map((each) => each.replaceAll('.', ''))
}

/** Decodes a name or a value of a pair. */
export function decoded(text: string): string {
  const spaced = text.replaceAll('+', ' ')
  if (PLAIN_TEXT.test(spaced)) return spaced
  const bytes = spaced.replace(/%([0-9A-Fa-f]{2})/g, (_, hex) => String.fromCharCode(Number.parseInt(hex, 16)))
  return Buffer.from(bytes, 'latin1').toString('utf8')
}
