import { isUtf8 } from 'node:buffer'
import { type Denial, denial, isDenial } from '../errors.ts'
import {
  type AskedPrice,
  type BodySource,
  type Price,
  type PriceReading,
  type PriceSource,
  partsOf,
  pathsOf,
} from '../inputs/price.ts'
import { productRoundedUp } from '../lib/decimal.ts'
import { valuesIn } from '../lib/field-names.ts'
import { isJson } from '../lib/json-fault.ts'
import { elementCount, type Member, topLevelElements, topLevelMembers } from '../lib/json-members.ts'
import { keyOfJson, keyOfWritten, valueOfKey } from '../lib/json-scalar.ts'
import { onceForEach } from '../lib/memo.ts'
import { foldedParameter } from '../lib/parameter-names.ts'
import { readParameter } from '../lib/query-parameters.ts'
import { decoded, pairsNamed } from './query-names.ts'
import { spellingsOf } from './spellings.ts'

/** The parts of a request from which its price may be read. */
export interface Asked {
  /** The whole body, if the price has a `maxBody`. */
  readonly body: Buffer | null
  /** The query as the client sends it, one character for each byte: empty, or `?` and the text after it. */
  readonly query: string
  /** Names and values by turns. */
  readonly rawHeaders: readonly string[]
  /** Bytes of the body: 0 if there is none, `null` if the number is unknown before the body has come. */
  readonly length: number | null
}

type Cost = { readonly cost: number }

/**
 * Prices a request whose query has no `queryFault`. The caller checks that first, because such a request is refused before its body is
 * read. A request with two readings is refused: if the gateway and the upstream read it differently, an expensive response could be had
 * cheaply.
 */
export function priceOf(price: Price, asked: Asked): Cost | Denial {
  if (price.kind === 'fixed') return price
  if (price.maxBody === null) return costIn(price, asked, NO_BODY)
  const body = readBody(price, price.maxBody, asked)
  if (isDenial(body)) return body
  return Array.isArray(body) ? costOfAll(price, asked, body) : costIn(price, asked, body)
}

/** The members of the JSON object from which a price is read, or the reason why the body has none for any reader. */
type Json = { readonly members: readonly Member[] } | { readonly none: Denial }

const NO_BODY: Json = { none: refuse('The request must have a body.', 'body_price') }

/** A batch is charged whole, or not at all. */
function costOfAll(price: AskedPrice, asked: Asked, objects: readonly string[]): Cost | Denial {
  let sum = 0
  for (const object of objects) {
    const members = membersOf(object)
    const priced = isDenial(members) ? members : costIn(price, asked, { members })
    if (isDenial(priced)) return priced
    sum += priced.cost
  }
  return { cost: sum }
}

function costIn(price: Price, asked: Asked, json: Json): Cost | Denial {
  if (price.kind === 'fixed') return price
  const found = find(price.source, asked, json)
  if (isDenial(found)) return found
  if ('none' in found) return costWithout(price, found.none)
  const { source, reading } = price
  switch (reading.kind) {
    case 'values': {
      const listed = listedPrice(price, reading.values, found)
      return isDenial(listed) ? listed : costIn(listed, asked, json)
    }
    case 'number':
      return costOfNumber(source, reading, found) ?? costWithout(price, null)
    case 'list':
      return costOfList(source, reading, found) ?? costWithout(price, null)
    case 'size': {
      const { bytes } = found as { readonly bytes: number | null }
      return bytes === null ? { cost: reading.max } : within(reading, Math.ceil(bytes / reading.per))
    }
  }
}

/** @param none why there is no value, if the request does not simply leave it out */
function costWithout(price: AskedPrice, none: Denial | null): Cost | Denial {
  const { source, reading, otherwise } = price
  if (otherwise === null) return none ?? must(source, howOf(price))
  // To most readers a missing member is `null`.
  const asNull = reading.kind === 'values' ? reading.values.get('null') : undefined
  return asNull?.kind === 'fixed' ? asNull : { cost: otherwise }
}

function howOf({ reading, otherwise }: AskedPrice): string {
  if (reading.kind !== 'values') return reading.kind === 'list' ? AS_LIST : AS_NUMBER
  const others = otherwise === null ? '' : ', or with one that cannot be taken for any of them'
  return `with one of these values: ${[...reading.values.keys()].join(', ')}${others}`
}

const ONCE = 'only once, in one spelling'
const AS_NUMBER = 'as a number'
const AS_LIST = 'as a list'

function within({ min, max }: { readonly min: number; readonly max: number }, tokens: number): Cost {
  return { cost: Math.min(max, Math.max(min, tokens)) }
}

/** The value of a request at a source: a value of JSON as it is written, a text, or a length. */
type Found =
  | { readonly json: string }
  | { readonly text: string }
  | { readonly bytes: number | null }
  | { readonly none: Denial | null }

function find(source: PriceSource, asked: Asked, json: Json): Found | Denial {
  switch (source.kind) {
    case 'body':
      return 'none' in json ? json : memberAt(source, json.members)
    case 'query':
      return inQuery(source, asked)
    case 'header':
      return inHeader(source, asked)
    case 'size':
      return { bytes: asked.length }
  }
}

/** The most members of one level. A body of the default size holds hardly more. */
const MAX_MEMBERS = 10_000

/** The member at a path. No level may have it in another spelling, or twice. */
function memberAt(source: BodySource, outermost: readonly Member[]): Found | Denial {
  let json = ''
  for (const [level, isSpelling] of spellingsAt(source).entries()) {
    if (json === 'null') break
    if (level > 0 && !json.startsWith('{')) {
      return must({ kind: 'body', path: source.path.slice(0, level) }, 'as an object')
    }
    const members = level === 0 ? outermost : membersOf(json)
    if (isDenial(members)) return members
    const [member, twin] = members.filter(({ key }) => isSpelling(key))
    if (member === undefined) return { none: null }
    if (twin !== undefined || source.path[level]?.includes(member.key) !== true) {
      return must(source, ONCE)
    }
    json = member.value
  }
  return { json }
}

/** For each level of a path, whether a name is one of its names, or is the rest of the path in one name with dots, which some readers accept. */
const spellingsAt = onceForEach(({ path }: BodySource) =>
  path.map((names, level) => spellingsOf(level < path.length - 1 ? [...names, dotted(path.slice(level))] : names)),
)

function dotted(path: BodySource['path']): string {
  return path.map(([name]) => name).join('.')
}

const JSON_TYPE = /^application\/json[ \t]*(?:;[ \t]*charset=(?:utf-8|"utf-8"))?$/i
/** The beginning of an object or an array (RFC 8259 has no other white space). */
const COMPOUND = /^[ \t\n\r]*([{[])/
/** Words: no reader of JSON, YAML, XML or forms, however tolerant, finds the name of a member in them. */
const WORDS = /^[\w \t\r\n.,;!?()-]*$/

/**
 * Denies a body that two readers could read differently.
 * @returns the objects of a batch, the members of one object, or that no reader finds any
 */
function readBody({ batch }: AskedPrice, maxBody: number, { body, rawHeaders }: Asked): string[] | Json | Denial {
  const bytes = body ?? EMPTY
  if (bytes.length > maxBody) {
    return denial('payload_too_large', `The body of this request may have at most ${maxBody} bytes.`)
  }
  const encoded = valuesIn(rawHeaders, 'content-encoding').length > 0
  if (encoded) return refuse('The body of this request must not have a Content-Encoding.', 'body_price')
  const read = readJson(valuesIn(rawHeaders, 'content-type'), bytes, batch)
  return isDenial(read) && WORDS.test(bytes.toString('latin1')) ? { none: read } : read
}

const EMPTY = Buffer.alloc(0)

function readJson(types: readonly string[], body: Buffer, batch: number | null): string[] | Json | Denial {
  const [type = '', ...others] = types
  if (others.length > 0 || !JSON_TYPE.test(type)) {
    return refuse('The body of this request must be application/json in UTF-8.', 'body_price')
  }
  // A byte order mark is no JSON, and some parsers skip it.
  const text = isUtf8(body) ? body.toString('utf8') : ''
  const [, opening] = COMPOUND.exec(text) ?? []
  if (opening === '[' && batch !== null) return readBatch(text, batch)
  if (opening !== '{') return noObject()
  // Checked before the whole is parsed, which takes seconds for a million members.
  const members = membersOf(text)
  if (isDenial(members)) return members
  return isJson(text) ? { members } : noObject()
}

function readBatch(text: string, most: number): string[] | Denial {
  const elements = topLevelElements(text, most + 1)
  if (elements.length > most) {
    return refuse(`The JSON array of this request may have at most ${most} elements.`, 'body_price')
  }
  const areObjects = elements.length > 0 && elements.every((element) => element.startsWith('{'))
  if (areObjects && isJson(text)) return elements
  return refuse('The body of this request must be a JSON object, or an array of such objects.', 'body_price')
}

const noObject = () => refuse('The body of this request must be a JSON object.', 'body_price')

function membersOf(object: string): Member[] | Denial {
  const members = topLevelMembers(object, MAX_MEMBERS + 1)
  if (members.length <= MAX_MEMBERS) return members
  return refuse(`The JSON object of this request may have at most ${MAX_MEMBERS} members.`, 'body_price')
}

type QuerySource = Extract<PriceSource, { kind: 'query' }>

/** Many frameworks read a body and the query as one, and then the body decides. */
function inQuery(source: QuerySource, { query, length }: Asked): Found | Denial {
  if (length !== 0) return refuse('The request must not have a body: its query says what it costs.', 'query_price')
  const { names, folded } = namesRead(source)
  const { count, isUnclear } = pairsNamed(names, query)
  if (isUnclear) return refuse(UNCLEAR, 'query_price')
  const read = readParameter(query, source.name, folded)
  const [text, twin] = read.values
  if (twin !== undefined || read.isUnclear || count !== read.values.length) return must(source, ONCE)
  return text === undefined ? { none: null } : { text: decoded(text) }
}

const namesRead = onceForEach(({ name }: QuerySource) => ({ names: [name], folded: foldedParameter(name) }))

function inHeader(source: Extract<PriceSource, { kind: 'header' }>, { rawHeaders }: Asked): Found | Denial {
  const [text, twin] = valuesIn(rawHeaders, source.name.toLowerCase())
  if (text === undefined) return { none: null }
  // Node has one character for each byte, and services read UTF-8.
  return twin === undefined ? { text: Buffer.from(text, 'latin1').toString('utf8') } : must(source, 'only once')
}

/** The price of the value. `otherwise` applies only to a value that no reader takes for one with another price. */
function listedPrice(price: AskedPrice, values: ReadonlyMap<string, Price>, found: Found): Price | Denial {
  const key = keyOf(found)
  const listed = key === null ? undefined : values.get(key)
  if (listed !== undefined) return listed
  const { otherwise, source } = price
  if (key !== null && otherwise !== null && isOther(key, values)) return { kind: 'fixed', cost: otherwise }
  const msg = mustHave(source, howOf(price))
  return refuse(msg, key === null ? reasonOf(source) : `${reasonOf(source)}: ${key.slice(0, MOST_SHOWN)}`)
}

/** The key of a value. `null` for a text that spells a scalar in another way than its key (` 2`, `2.0`, `"a"`), since readers differ about it. */
function keyOf(found: Found): string | null {
  if ('json' in found) return keyOfJson(found.json)
  return 'text' in found && keyOfWritten(found.text) === found.text ? found.text : null
}

/** The values of a price, in forms that distinguish them from other values. */
interface Listed {
  readonly types: ReadonlySet<string>
  readonly hasFractions: boolean
  readonly isSpelling: (text: string) => boolean
}

const listedOf = onceForEach((values: ReadonlyMap<string, Price>): Listed => {
  const all = [...values.keys()].map(valueOfKey)
  const texts = all.filter((value) => typeof value === 'string')
  return {
    types: new Set(all.map((value) => typeof value)),
    hasFractions: all.some((value) => typeof value === 'number' && !Number.isInteger(value)),
    isSpelling: spellingsOf(texts),
  }
})

/** Characters that some reader decodes, or takes for a separator of a list. */
const ODD_TEXT = /[%,;\ufffd]/

/**
 * Whether no reader takes a value for a listed one. Values of other types may be equal: "2" is 2 to PHP, and 1 is true to Python. So may
 * a number that is cut to a whole one or to 32 bits, and another spelling of a text.
 */
function isOther(key: string, values: ReadonlyMap<string, Price>): boolean {
  if (key === 'null') return true
  const { types, hasFractions, isSpelling } = listedOf(values)
  const value = valueOfKey(key)
  if (!types.has(typeof value)) return false
  if (typeof value === 'number') return hasFractions || (Number.isInteger(value) && Math.abs(value) < 2 ** 31)
  if (typeof value !== 'string') return true
  const mayBeNumber = types.has('number') && !Number.isNaN(Number.parseFloat(value.normalize('NFKD')))
  return !mayBeNumber && !ODD_TEXT.test(value) && !isSpelling(value)
}

/** The most characters of a number that is read. */
const MAX_NUMBER = 100
/** A text without fraction and exponent. Some readers take only the digits before those. */
const WHOLE = /^(?:0|-?[1-9]\d*)$/
const NUMBER = /^-?\d/

/** @returns `null` if there is no value, which is not the same as another value */
function costOfNumber(
  source: PriceSource,
  reading: Extract<PriceReading, { kind: 'number' }>,
  found: Found,
): Cost | Denial | null {
  const written = 'json' in found ? found.json : 'text' in found ? found.text : ''
  if ('json' in found && written === 'null') return null
  const isNumber = ('json' in found ? NUMBER : WHOLE).test(written)
  if (!isNumber || written.length > MAX_NUMBER) return must(source, AS_NUMBER)
  return within(reading, productRoundedUp(written, reading.times))
}

/** @returns as `costOfNumber` */
function costOfList(
  source: PriceSource,
  reading: Extract<PriceReading, { kind: 'list' }>,
  found: Found,
): Cost | Denial | null {
  const json = 'json' in found ? found.json : ''
  if (json === 'null') return null
  if (!json.startsWith('[')) return must(source, AS_LIST)
  return within(reading, elementCount(json) * reading.each)
}

/** Why a query may not stand beside a priced body. */
export type QueryFault =
  /** It has a name of the price. */
  | 'named'
  /** It has so many or so long escaped names that to check them would cost more than the request. */
  | 'unclear'

/**
 * Whether a query has a name of the body that the price depends on, in any spelling that the body may not have either. Many frameworks
 * read the query and the body as one (`$_REQUEST`, `params`, `@RequestParam`), so one value would be paid for and the other used.
 *
 * @param query as in `Asked`
 */
export function queryFault(price: AskedPrice, query: string): QueryFault | null {
  if (query.length <= 1) return null
  const { count, isUnclear } = pairsNamed(bodyNames(price), query)
  if (count > 0) return 'named'
  return isUnclear ? 'unclear' : null
}

const UNCLEAR =
  'The query has too many escaped names beside what says what this request costs: escape fewer than 32 of them.'

/** The denial of a query that may not stand beside the price. */
export function queryDenial(price: AskedPrice, fault: QueryFault): Denial {
  if (fault === 'unclear') return refuse(UNCLEAR, 'body_price')
  const names = bodyNames(price).map((name) => JSON.stringify(name))
  return refuse(`The query must not have ${names.join(' or ')}: the body says what this request costs.`, 'body_price')
}

/** The names in the body that a price and the prices within it use: the first and the last name of each path, and the path as one name. */
export const bodyNames = onceForEach((price: AskedPrice): readonly string[] => {
  const paths = partsOf(price).flatMap(({ source }) => (source.kind === 'body' ? [source.path] : []))
  return [...new Set(paths.flatMap((path) => [...(path[0] ?? []), ...(path.at(-1) ?? []), ...joined(path)]))]
})

function joined(path: BodySource['path']): string[] {
  return path.length > 1 ? [dotted(path)] : []
}

/** The most characters of an unknown value in the log. */
const MOST_SHOWN = 64

/** @param reason for the log */
function refuse(msg: string, reason: string): Denial {
  return denial('bad_request', msg, { reason })
}

function must(source: PriceSource, how: string): Denial {
  return refuse(mustHave(source, how), reasonOf(source))
}

function mustHave(source: PriceSource, how: string): string {
  const where = source.kind === 'header' ? 'request' : source.kind
  return `The ${where} must have ${nameOfSource(source)} ${how}.`
}

function reasonOf({ kind }: PriceSource): string {
  return `${kind}_price`
}

/** The source in words, for a sentence. */
function nameOfSource(source: PriceSource): string {
  switch (source.kind) {
    case 'body':
      return pathsOf(source)
        .map((path) => JSON.stringify(path))
        .join(' or ')
    case 'query':
      return JSON.stringify(source.name)
    case 'header':
      return `the header ${source.name}`
    case 'size':
      return 'a length'
  }
}
