import { z } from 'zod'
import { fieldNameProblem } from '../headers.ts'
import { quote } from '../problems.ts'
import type { Reading } from '../units.ts'
import { memberPath, parsePath } from './member-path.ts'
import { byValue, tokens } from './tokens.ts'
import { choice, either, list, read, section, size, wanted } from './values.ts'

/** What a request cost, if its response says it. */

const amount = (description: string) =>
  either('tokens (an integer from 0 to 1000000000) or all', [tokens(), choice(['all']).describe('The cost')]).describe(
    description,
  )

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
  .describe(
    'Tokens by the status of the response, 404 before 4xx: a number, or all for the cost. It comes first. gateway: where the gateway gives 502 or 504 in place of a response, by default all',
  )

function parseField(name: string): Reading<string> {
  const problem = fieldNameProblem(name)
  return problem === null ? { value: name.toLowerCase() } : { problem }
}

const path = () => memberPath('Path of the member, like usage.total_tokens, or ["odd.name"].x')

/** Beyond a thousand a weight has no twelve decimals. */
const MOST_WEIGHT = 1000

const weightError = ({ input }: { input?: unknown }) => wanted(`a number from 0 to ${MOST_WEIGHT}`, input)

const sum = z
  .record(
    z.string(),
    z.number({ error: weightError }).min(0, { error: weightError }).max(MOST_WEIGHT, { error: weightError }),
    {
      error: ({ input }) =>
        wanted('a map of members to tokens, like { prompt_tokens: 1, completion_tokens: 4 }', input),
    },
  )
  .refine((record) => Object.keys(record).length > 0, { error: 'is empty: write at least one member and its tokens' })
  .refine((record) => Object.keys(record).length <= 16, { error: 'has more than 16 members: remove some' })
  .transform((record, context) =>
    Object.entries(record).map(([key, weight]) => {
      const path = parsePath(key)
      if ('problem' in path) context.addIssue({ code: 'custom', path: [key], message: path.problem, input: key })
      return { path: 'value' in path ? path.value : [], weight }
    }),
  )
  .describe(
    'Members below json, or of the whole, and the tokens for each unit of one, 0 to 1000: { prompt_tokens: 1, completion_tokens: 4 }. The sum is rounded up. One that is not there counts 0, if another is',
  )

interface Written {
  readonly status?: ReadonlyMap<string, number | 'all'> | undefined
  readonly header?: string | undefined
  readonly json?: readonly (readonly string[])[] | undefined
  readonly sum?: readonly { readonly path: readonly string[]; readonly weight: number }[] | undefined
  readonly size?: 'response' | undefined
  readonly per?: number | undefined
  readonly max?: number | undefined
  readonly max_body?: number | undefined
  readonly values?: ReadonlyMap<string, number | 'all'> | undefined
  readonly otherwise?: number | 'all' | undefined
  readonly missing?: number | 'all' | undefined
}

const CURE = 'add header: NAME, json: PATH, sum or size with max'
const READ = `is of what is read of a response: ${CURE}, or remove it`

/** The first thing that is wrong with the keys together: the key, or none for the whole, and the sentence. */
function faultOf(written: Written): [string[], string] | null {
  const has = (...keys: (keyof Written)[]) => keys.some((key) => written[key] !== undefined)
  const isRead = has('header', 'json', 'sum', 'size')
  const faults: [boolean, string | null, string][] = [
    [!isRead && !has('status'), null, `says nothing of the response: ${CURE}, or status`],
    [has('header') && has('json'), 'json', 'stands beside header: write one of them'],
    [has('header') && has('sum'), 'sum', 'stands beside header: write one of them'],
    [has('size') && has('header', 'json', 'sum'), 'size', 'stands beside header, json or sum: write one of them'],
    ...(['max', 'values', 'missing'] as const).map((key): [boolean, string, string] => [
      !isRead && has(key),
      key,
      READ,
    ]),
    [has('max_body') && !has('json', 'sum'), 'max_body', 'is of a JSON body: add json: PATH, or remove it'],
    [has('size') && !has('per'), null, 'has no per: add the bytes of a token, like per: 1MiB'],
    [has('per') && !has('size'), 'per', 'is of a size: add size: response, or remove it'],
    [has('values') && has('sum', 'size'), 'values', 'stands beside sum or size, which gives tokens: remove it'],
    [has('missing') && has('size'), 'missing', 'stands beside size, which no response lacks: remove it'],
    [isRead && !has('values', 'max'), null, 'has no max: add the most tokens that a response can make it, or values'],
    [has('max') && has('values'), 'max', 'stands beside values, which say it: remove it'],
    [
      has('otherwise') && isRead && !has('values'),
      'otherwise',
      'is for values that are not listed: add values, or write missing',
    ],
  ]
  const [, key = null, message] = faults.find(([isWrong]) => isWrong) ?? []
  return message === undefined ? null : [key === null ? [] : [key], message]
}

/** Together with the domain's `SettleRule`, which it is. */
function ruleOf(written: Written, context: z.RefinementCtx) {
  const fault = faultOf(written)
  if (fault !== null) {
    context.addIssue({ code: 'custom', path: fault[0], message: fault[1], input: written })
    return z.NEVER
  }
  const { status = new Map(), max = 0, values, otherwise = 'all', missing } = written
  return {
    status,
    source: sourceOf(written),
    reading: values === undefined ? { max } : { values },
    otherwise,
    missing: missing ?? (values === undefined ? ('all' as const) : otherwise),
  }
}

function sourceOf({ header, json: paths = [], sum, per, max_body: maxBody = 65_536 }: Written) {
  if (header !== undefined) return { kind: 'header' as const, field: header }
  if (per !== undefined) return { kind: 'size' as const, per }
  if (paths.length === 0 && sum === undefined) return null
  return { kind: 'json' as const, paths, sum: sum ?? null, maxBody }
}

export const settle = section(
  {
    status: status.optional(),
    header: read('the name of a header', parseField)
      .optional()
      .describe('A field of the response that says the tokens, or one of values'),
    json: either('the path of a member, like usage.total_tokens, or a list of paths', [
      path().transform((path) => [path]),
      list(path(), 1, 4).describe('The first that is there'),
    ])
      .optional()
      .describe(
        'Path of a member of a JSON response, like usage.total_tokens, or up to 4, of which the first counts that is there. Of server-sent events and JSON Lines the last one that has it counts',
      ),
    sum: sum.optional(),
    size: choice(['response']).optional().describe('The bytes of the body as they come, each started per for a token'),
    per: size('1B', '1GiB').optional().describe('How many bytes of the body cost one token, 1B to 1GiB'),
    max: tokens()
      .describe('The most tokens that the response can make it, 0 to 1000000000; more counts as this')
      .optional(),
    // 2 MiB take 25 ms of the one thread, 4 MiB up to 250 (Node 26.10).
    max_body: size('1B', '2MiB')
      .optional()
      .describe(
        'Largest JSON body, or event of a stream, that is read, 1B to 2MiB; of a longer body the cost stands, and a longer event is skipped. Default 64KiB',
      ),
    values: byValue(amount('Tokens'), 'Tokens for each value: a number, or all for the cost').optional(),
    otherwise: amount(
      'Tokens where neither status nor values have what the response says: a number, or all. Default all',
    ).optional(),
    missing: amount(
      'Tokens of a whole response without the field: a number, or all. Default otherwise where there are values, else all',
    ).optional(),
  },
  'The cost is a reserve: what it was is known by the response, and the difference given back or charged. Default never',
)
  .transform(ruleOf)
  .meta({ id: 'settle' })
