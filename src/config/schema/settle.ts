import { z } from 'zod'
import { fieldNameProblem } from '../headers.ts'
import { quote } from '../problems.ts'
import type { Reading } from '../units.ts'
import { memberPath, parsePath } from './member-path.ts'
import { byValue, tokens } from './tokens.ts'
import { choice, either, list, read, section, size, wanted } from './values.ts'

/** How a response reports what its request cost. */

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
    'The final cost by the status of the response, such as { 4xx: 0 }. A single status like 404 goes before its class 4xx, and the status goes before all other keys of settle. The value is a number of tokens, or all for the whole cost. The key gateway is for a 502 or 504 that the gateway itself sends instead of a response, and is all by default',
  )

function parseField(name: string): Reading<string> {
  const problem = fieldNameProblem(name)
  return problem === null ? { value: name.toLowerCase() } : { problem }
}

const path = () => memberPath('The path of the field, like usage.total_tokens, or ["odd.name"].x')

/** The largest weight. A much larger number could not be held exactly to twelve decimals, with which the sum is computed. */
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
    'Several fields whose sum is the cost, each with the tokens for one unit, from 0 to 1000. With { prompt_tokens: 1, completion_tokens: 4 }, 19 prompt tokens and 10 completion tokens cost 59. The fields stand below json, or at the top of the response if json is missing. The sum is rounded up. If a field is missing, it counts as 0, as long as another one is present',
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

/** The first fault in how the keys go together: the path of a key, or an empty path for the whole section, and the sentence. */
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

/** Makes the `SettleRule` of the route map (`routing/final-cost.ts`). */
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
      .describe('The header of the response that contains the number of tokens, or one of values'),
    json: either('the path of a member, like usage.total_tokens, or a list of paths', [
      path().transform((path) => [path]),
      list(path(), 1, 4).describe('Several paths, of which the first one that is present counts'),
    ])
      .optional()
      .describe(
        'The path of the field in a JSON response that contains the cost, like usage.total_tokens. You can list up to 4 paths, and the first one that is present counts. In server-sent events and JSON Lines, the last event or line with the field counts',
      ),
    sum: sum.optional(),
    size: choice(['response'])
      .optional()
      .describe('Lets the number of bytes in the response body decide the cost, as per says'),
    per: size('1B', '1GiB')
      .optional()
      .describe(
        'How many bytes of the response body cost one token. A part that is begun counts as a whole one. 1B to 1GiB',
      ),
    max: tokens()
      .describe(
        'The most tokens that the response can charge. A response that names more is charged this number. 0 to 1000000000',
      )
      .optional(),
    // A body of more than 2 MiB would block the thread for too long.
    max_body: size('1B', '2MiB')
      .optional()
      .describe(
        'The longest JSON body, or event of a stream, in which the gateway looks for the cost. With a longer body the reserve stays charged, and a longer event is skipped. 1B to 2MiB. Default 64KiB',
      ),
    values: byValue(
      amount('Tokens'),
      'The final cost for each value of the field: a number of tokens, or all for the whole cost',
    ).optional(),
    otherwise: amount(
      'The final cost if neither status nor values name what the response contains: a number of tokens, or all. Default all',
    ).optional(),
    missing: amount(
      'The final cost of a complete response that lacks the field: a number of tokens, or all. Default the value of otherwise if there are values, and all if not',
    ).optional(),
  },
  'Lets the response decide the final cost. The cost of the rule is then a reserve, which is charged at first. When the response is known, the difference is given back or charged in addition. Default never',
)
  .transform(ruleOf)
  .meta({ id: 'settle' })
