import { z } from 'zod'
import { fieldNameProblem } from '../headers.ts'
import { quote } from '../problems.ts'
import type { Reading } from '../units.ts'
import { byValue, tokens } from './tokens.ts'
import { choice, either, read, section, size, text, wanted } from './values.ts'

/** What a request cost, if its response says it. */

const amount = (description: string) =>
  either('tokens (an integer from 0 to 1000000000) or all', [tokens(), choice(['all'], { description: 'The cost' })], {
    description,
  })

const STATUS = /^(?:[1-5](?:[0-9]{2}|xx)|gateway)$/

const status = z
  .record(
    z.string().regex(STATUS, {
      error: ({ input }) => `${quote(String(input))} is no status: write one like 404, a class like 4xx, or gateway`,
    }),
    amount('Tokens'),
    { error: ({ input }) => wanted('a map of statuses to tokens', input) },
  )
  .refine((record) => Object.keys(record).length > 0, { error: 'is empty: write at least one status and its tokens' })
  .transform((record) => new Map(Object.entries(record)))
  .meta({
    description:
      'Tokens by the status of the response, 404 before 4xx: a number, or all for the cost. It comes first. gateway: where the gateway gives 502 or 504 in place of a response, by default all',
  })

function parseField(name: string): Reading<string> {
  const problem = fieldNameProblem(name)
  return problem === null ? { value: name.toLowerCase() } : { problem }
}

interface Written {
  readonly status?: ReadonlyMap<string, number | 'all'> | undefined
  readonly header?: string | undefined
  readonly json?: string | undefined
  readonly max?: number | undefined
  readonly max_body?: number | undefined
  readonly values?: ReadonlyMap<string, number | 'all'> | undefined
  readonly otherwise?: number | 'all' | undefined
  readonly missing?: number | 'all' | undefined
}

/** What is wrong with the keys together: the key, or none for the whole, and the sentence. */
function faultOf({
  status,
  header,
  json,
  max,
  max_body,
  values,
  otherwise,
  missing,
}: Written): [string[], string] | null {
  const hasSource = header !== undefined || json !== undefined
  if (header !== undefined && json !== undefined) return [['json'], 'stands beside header: write one of them']
  if (!hasSource && status === undefined) {
    return [[], 'says nothing of the response: add header: NAME or json: PATH with max, or status']
  }
  const alone = { max, values, missing }
  const [lonely] = Object.entries(alone).find(([, value]) => value !== undefined && !hasSource) ?? []
  if (lonely !== undefined)
    return [[lonely], 'is of a header or a JSON field: add header: NAME or json: PATH, or remove it']
  if (max_body !== undefined && json === undefined)
    return [['max_body'], 'is of a JSON body: add json: PATH, or remove it']
  if (hasSource && values === undefined && max === undefined) {
    return [[], 'has no max: add the most tokens that a response can make it, or values']
  }
  if (max !== undefined && values !== undefined) return [['max'], 'stands beside values, which say it: remove it']
  if (otherwise !== undefined && hasSource && values === undefined) {
    return [['otherwise'], 'is for values that are not listed: add values, or write missing']
  }
  return null
}

/** Together with the domain's `SettleRule`, which it is. */
function ruleOf(written: Written, context: z.RefinementCtx) {
  const fault = faultOf(written)
  if (fault !== null) {
    context.addIssue({ code: 'custom', path: fault[0], message: fault[1], input: written })
    return z.NEVER
  }
  const { status = new Map(), header, json, max = 0, max_body = 65_536, values, otherwise = 'all', missing } = written
  return {
    status,
    source: sourceOf(header, json, max_body),
    reading: values === undefined ? { max } : { values },
    otherwise,
    missing: missing ?? (values === undefined ? ('all' as const) : otherwise),
  }
}

function sourceOf(field: string | undefined, path: string | undefined, maxBody: number) {
  if (field !== undefined) return { kind: 'header' as const, field }
  return path === undefined ? null : { kind: 'json' as const, path, maxBody }
}

export const settle = section(
  {
    status: status.optional(),
    header: read('the name of a header', parseField, {
      description: 'A field of the response that says the tokens, or one of values',
    }).optional(),
    json: text(
      { description: 'Path of a member of a JSON response, like usage.total_tokens' },
      { max: 256, what: 'the path of a member' },
    ).optional(),
    max: tokens()
      .meta({ description: 'The most tokens that the response can make it, 0 to 1000000000; more counts as this' })
      .optional(),
    // 2 MiB take 25 ms of the one thread, 4 MiB up to 250 (Node 26.10).
    max_body: size('1B', '2MiB', {
      description: 'Largest JSON body that is read, 1B to 2MiB; of a longer one the cost stands. Default 64KiB',
    }).optional(),
    values: byValue(amount('Tokens'), 'Tokens for each value: a number, or all for the cost').optional(),
    otherwise: amount(
      'Tokens where neither status nor values have what the response says: a number, or all. Default all',
    ).optional(),
    missing: amount(
      'Tokens of a whole response without the field: a number, or all. Default otherwise where there are values, else all',
    ).optional(),
  },
  'The cost is a reserve: what it was is known by the response, and the difference given back or charged. Default never',
).transform(ruleOf)
