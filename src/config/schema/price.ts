import { z } from 'zod'
import {
  type BodySource,
  dearest,
  type Price,
  type PriceReading,
  type PriceSource,
  partsOf,
} from '../../inputs/price.ts'
import { pathOfNames } from '../../lib/json-path.ts'
import { priceHeaderProblem } from '../headers.ts'
import { quote } from '../problems.ts'
import { memberPath } from './member-path.ts'
import { byValue, tokens } from './tokens.ts'
import { choice, either, integer, list, section, size, text } from './values.ts'

/** What a request costs: a number of tokens, or one that depends on the request. */

/** A price that is the same for every request, in whole tokens. */
export const fixed = (cost: number) => ({ kind: 'fixed' as const, cost })

/** The most tokens for one request. */
const MOST = 1e9
/** The names in the JSON Schema for a price and for the prices within it. Each of them is written there once, in `$defs`. */
const LEVELS = ['price', 'price_of_a_value', 'price_of_an_inner_value']

/** @param description of the key */
export function price(description: string): z.ZodType<Price> {
  return priceAt(1, description)
}

function priceAt(level: number, description: string): z.ZodType<Price> {
  if (level > LEVELS.length) return tokens().transform(fixed)
  return either('tokens (an integer from 0 to 1000000000) or a price such as { body, values }', [
    tokens().transform(fixed),
    asked(level),
  ]).describe(description)
}

const member = memberPath('A field of a JSON body, such as chargeId, params.name, or ["odd.name"].x')

const TIMES = 'a number above 0, at most 1000000000'
const outOfTimes = { error: `must be ${TIMES}` }

function shapeAt(level: number) {
  return {
    body: either('the path of a member or a list of names', [
      member.transform((path) => [path]),
      list(member, 1, 20).describe('All its names'),
    ])
      .optional()
      .describe(
        'The field of a JSON body that decides the cost. If the upstream accepts several names for this field at the top level, list all of them',
      ),
    query: text({ max: 64, what: 'a name' })
      .regex(/^[\w.-]+$/, { error: 'is no name of letters, digits, "_", "-" and "."' })
      .optional()
      .describe('The parameter of the query that decides the cost'),
    header: text({ what: 'the name of a header' })
      .refine((name) => priceHeaderProblem(name) === null, {
        error: ({ input }) => priceHeaderProblem(String(input)) ?? '',
      })
      .optional()
      .describe('The header that decides the cost'),
    size: choice(['request']).optional().describe('Lets the length of the body decide the cost'),
    values: byValue(
      priceAt(level + 1, 'Tokens, or a price of its own'),
      'The tokens (or a further price) for each value, such as { 2: 10, 3: 20 }. Here 2 is the number 2, and \'"2"\' would be the text. Any other value costs otherwise. Without otherwise it gets 400, and is neither charged nor forwarded',
    ).optional(),
    times: z
      .number({ error: `must be ${TIMES}` })
      .min(1e-9, outOfTimes)
      .max(1e9, outOfTimes)
      .describe(
        'The tokens by which a number is multiplied, above 0. With 0.5, the number 3 costs 2 tokens, because the product is rounded up',
      )
      .optional(),
    each: integer(1, 1e9)
      .optional()
      .describe(
        'How many tokens each element of a list costs. With 2, a list of five elements costs 10 tokens. 1 to 1000000000',
      ),
    per: size('1B', '1GiB')
      .optional()
      .describe(
        'How many bytes of the body cost one token. A part that is begun counts as a whole one, so with 1KiB a body of 1,500 bytes costs 2 tokens. 1B to 1GiB',
      ),
    min: tokens().describe('The fewest tokens that the request costs. 0 to 1000000000. Default 1').optional(),
    max: tokens().describe('The most tokens that the request costs. 0 to 1000000000').optional(),
    missing: tokens()
      .describe(
        'The tokens that a request without the number or list costs. Without this key such a request gets 400. Default 400',
      )
      .optional(),
    otherwise: tokens()
      .describe(
        'The tokens that any other value costs, and a request without a value. Without this key such a request gets 400. Default 400',
      )
      .optional(),
  }
}

/** Keys that only the outermost price may have. */
const whole = {
  batch: integer(1, 1000)
    .optional()
    .describe(
      'Lets clients send a JSON array of calls, which costs the sum of its elements. The number is the most elements that it may have. 1 to 1000. Default an array gets 400',
    ),
  max_body: size('1B', '16MiB')
    .optional()
    .describe('The longest body from which the cost is read. A longer body gets 413. 1B to 16MiB. Default 64KiB'),
}

type Written = z.output<z.ZodObject<ReturnType<typeof shapeAt> & typeof whole>>
type Fault = [path: string[], message: string]

const made = new Map<number, z.ZodType<Price>>()

function asked(level: number): z.ZodType<Price> {
  const known = made.get(level) ?? makeAsked(level).meta({ id: LEVELS[level - 1] as string })
  made.set(level, known)
  return known
}

function makeAsked(level: number): z.ZodType<Price> {
  const shape = level === 1 ? { ...shapeAt(level), ...whole } : shapeAt(level)
  return section(shape, 'A cost that depends on the content of the request').transform((section, context): Price => {
    const written = section as Written
    const fault = sourceFault(written) ?? readingFault(written) ?? wholeFault(written)
    if (fault !== null) {
      context.addIssue({ code: 'custom', path: fault[0], message: fault[1], input: written })
      return z.NEVER
    }
    const made = { kind: 'asked' as const, source: sourceOf(written), reading: readingOf(written), maxBody: null }
    const { otherwise = null, missing = otherwise, batch = null, max_body = 65_536 } = written
    const part = { ...made, otherwise: missing, batch }
    if (batch !== null && dearest(part) > MOST) {
      const message = `makes a request cost up to ${dearest(part)}, above ${MOST}: lower it, or what an element costs`
      context.addIssue({ code: 'custom', path: ['batch'], message, input: batch })
      return z.NEVER
    }
    return readsBody(part) ? { ...part, maxBody: max_body } : part
  })
}

function readsBody(price: Price): boolean {
  return partsOf(price).some(({ source }) => source.kind === 'body')
}

const SOURCES = ['body', 'query', 'header', 'size'] as const
const READINGS = ['values', 'times', 'each', 'per'] as const

function sourceFault(written: Written): Fault | null {
  const { body = [] } = written
  const [first, second] = SOURCES.filter((key) => written[key] !== undefined)
  if (first === undefined) return [[], 'says nothing of the request: add body, query, header, or size: request']
  if (second !== undefined) return [[second], `stands beside ${first}: write one of them`]
  const inside = body.length > 1 ? body.find((path) => path.length > 1) : undefined
  if (inside === undefined) return null
  const name = quote(pathOfNames(inside))
  return [['body'], `has ${name} among others: only names at the top level may stand for each other`]
}

function readingFault(written: Written): Fault | null {
  const { size, body, each, per, values, min = 1, max, missing, otherwise } = written
  const [first, second] = READINGS.filter((key) => written[key] !== undefined)
  if (first === undefined) return [[], 'says no price: add values, or times, each or per with max']
  if (second !== undefined) return [[second], `stands beside ${first}: write one of them`]
  if (size !== undefined && per === undefined) return [[first], 'says nothing of a length: write per, like per: 1MiB']
  if (per !== undefined && size === undefined) return [['per'], 'is of a length: write size: request, or times']
  if (each !== undefined && body === undefined)
    return [['each'], 'is of a list in a JSON body: write body: PATH, or times']
  if (values === undefined && max === undefined) return [[], 'has no max: add the most tokens that a request may cost']
  if (values !== undefined) {
    const [odd] = Object.entries({ min: written.min, max, missing }).find(([, value]) => value !== undefined) ?? []
    return odd === undefined ? null : [[odd], 'is of times, each and per: remove it, or write otherwise']
  }
  if (max !== undefined && min > max) return [['max'], `is below min, ${min}: raise it`]
  if (otherwise !== undefined) return [['otherwise'], 'is for values that are not listed: write missing']
  if (missing !== undefined && size !== undefined) {
    return [['missing'], 'has no meaning: a request without a body has the length 0, and costs min']
  }
  return null
}

function wholeFault({ body, query, size, values, batch, max_body }: Written): Fault | null {
  if (batch !== undefined && body === undefined) return [['batch'], 'is of a JSON body: write body: PATH, or remove it']
  const parts = [...(values?.values() ?? [])].flatMap(partsOf)
  const kinds = new Set(parts.map(({ source }) => source.kind))
  const hasBody = body !== undefined || kinds.has('body')
  if (max_body !== undefined && !hasBody) return [['max_body'], 'is of a JSON body: write body: PATH, or remove it']
  const hasQuery = query !== undefined || kinds.has('query')
  if (hasQuery && (hasBody || size !== undefined || kinds.has('size'))) {
    return [
      ['values'],
      'reads the query and the body, and where the query is priced no request may have a body: read one of them',
    ]
  }
  if (batch === undefined || !(kinds.has('size') || kinds.has('header'))) return null
  return [['batch'], 'prices each element by itself, and header and size are of the whole request: remove one of them']
}

function sourceOf({ body, query, header }: Written): PriceSource {
  if (body !== undefined) return { kind: 'body', path: pathIn(body) }
  if (query !== undefined) return { kind: 'query', name: query }
  return header === undefined ? { kind: 'size' } : { kind: 'header', name: header }
}

function pathIn(paths: readonly (readonly string[])[]): BodySource['path'] {
  const [first = []] = paths
  return first.length > 1 ? first.map((name) => [name]) : [[...new Set(paths.flat())]]
}

function readingOf({ values, times, each, per = 0, min = 1, max = 0 }: Written): PriceReading {
  if (values !== undefined) return { kind: 'values', values }
  if (times !== undefined) return { kind: 'number', times, min, max }
  return each === undefined ? { kind: 'size', per, min, max } : { kind: 'list', each, min, max }
}
