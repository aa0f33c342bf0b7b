import { parseArgs } from 'node:util'
import { inForceFor, type Question } from '../admin/routes/explain.ts'
import { explain } from '../app/explain.ts'
import { formatSize } from '../config/units.ts'
import type { ExplainResponse } from '../contract/api.ts'
import { isUserId, USER_ID } from '../control/user-id.ts'
import { priceText } from '../inputs/shown-price.ts'
import { inColumns } from '../lib/columns.ts'
import { shown } from '../lib/shown.ts'
import type { Store } from '../store/store.ts'
import { type Loaded, openingOf, withStore } from './config.ts'
import { CONFIG_OPTION, type Given } from './config-option.ts'
import { deskOf } from './desk.ts'
import { refusalsAsText, refusalsNear } from './explain-refusals.ts'
import { momentOf } from './moment.ts'
import { UsageError } from './usage-error.ts'

const TEXT = { type: 'string' } as const
const OPTIONS = {
  ...CONFIG_OPTION,
  ...{ user: TEXT, method: TEXT, path: TEXT, cost: TEXT, value: TEXT, bytes: TEXT, body: TEXT, plan: TEXT },
  ...{ organisation: TEXT, at: TEXT },
  json: { type: 'boolean' },
} as const

/** Prints what the gateway would do with a request now, and why. It reads the file and its store, and charges nothing. */
export async function explainRequest(args: readonly string[]): Promise<number> {
  const { values } = parseArgs({ args: [...args], options: OPTIONS })
  const print = values.at === undefined ? explainNow(values) : explainThen(values)
  return withStore(values.config, openingOf(true), async (store, loaded) => {
    console.log(await print(loaded, store))
    return 0
  })
}

type Options = Given<typeof OPTIONS>

/** Makes the text to print from the store. */
type Print = (loaded: Loaded, store: Store) => Promise<string>

/** What would happen to a request now. @throws UsageError */
function explainNow(options: Options): Print {
  const question = questionOf(options)
  return async (loaded, store) => {
    const desk = await deskOf(loaded, store)
    const response = await explain(loaded.config, question, () => inForceFor(desk, question))
    if ('problem' in response) throw new UsageError(`--${response.problem.path} ${response.problem.msg}`)
    return options.json === true ? JSON.stringify(response, null, 2) : asText(response)
  }
}

/** Why a user was refused at a moment. @throws UsageError */
function explainThen({ user, at: moment = '', json }: Options): Print {
  if (user === undefined) throw new UsageError('explain --at needs --user')
  if (!isUserId(user)) throw new UsageError(`--user takes ${USER_ID}`)
  const at = momentOf('at', moment)
  return async (_loaded, store) => {
    const episodes = await refusalsNear(store, user, at)
    return json === true ? JSON.stringify(episodes, null, 2) : refusalsAsText(shown(user), at, episodes)
  }
}

/** The most tokens of one request, as in a configuration. */
const MAX_COST = 1e9

function questionOf(options: Options): Question {
  const { user, method = 'GET', path, cost, value, bytes, body, plan, organisation } = options
  if (user === undefined || path === undefined) throw new UsageError('explain needs --user and --path')
  for (const [name, id] of Object.entries({ user, plan, organisation })) {
    if (id !== undefined && !isUserId(id)) throw new UsageError(`--${name} takes ${USER_ID}`)
  }
  if (!path.startsWith('/')) throw new UsageError('--path takes a path that begins with "/"')
  if (cost !== undefined && (!/^\d{1,10}$/.test(cost) || Number(cost) > MAX_COST)) {
    throw new UsageError(`--cost takes whole tokens, at most ${MAX_COST}`)
  }
  if (bytes !== undefined && !/^\d{1,15}$/.test(bytes)) throw new UsageError('--bytes takes whole bytes')
  const number = (text: string | undefined) => (text === undefined ? undefined : Number(text))
  const known = { value, body, plan, organisation, cost: number(cost), bytes: number(bytes) }
  return { user, method: method.toUpperCase(), path, ...known }
}

const DECISIONS: Readonly<Record<ExplainResponse['decision'], string>> = {
  accept: 'ACCEPT',
  refuse: 'REFUSE',
  shadow: 'LET THROUGH (shadow mode: would be refused)',
  not_charged: 'LET THROUGH without a charge',
  no_route: 'NO ROUTE',
  depends_on_body: 'DEPENDS ON THE BODY',
  bad_request: 'BAD REQUEST',
}

/** For somebody who was woken up: first the verdict, then the reason, then all numbers behind it. */
export function asText(response: ExplainResponse): string {
  const { user, method, path, route, category, plan, organisation, limits, others = [], decision, why } = response
  return [
    `${DECISIONS[decision]}   ${method} ${shown(path)} of ${shown(user)}`,
    why,
    '',
    `route      ${route === null ? 'none' : `${route.match}   (line ${route.line})`}`,
    ...(category === null ? [] : meterLines({ ...response, category })),
    ...others.flatMap(meterLines),
    ...(response.tunnelCharge === undefined
      ? []
      : [`open       a WebSocket costs that again every ${response.tunnelCharge} while it is open`]),
    ...(response.idempotency === undefined ? [] : [`repeated   ${repeatedText(response.idempotency)}`]),
    ...(plan === undefined ? [] : [`plan       ${planText(plan)}${organisationText(organisation)}`]),
    ...(limits.length === 0 ? [] : ['', ...limitLines(limits)]),
    ...others.flatMap((other) =>
      other.limits.length === 0 ? [] : ['', `${other.category}:`, ...limitLines(other.limits)],
    ),
  ].join('\n')
}

type Metered = Pick<ExplainResponse, 'cost' | 'price' | 'settle'>

function meterLines(meter: Metered & { readonly category: string }): string[] {
  const { category, settle } = meter
  const lines = [`category   ${category}`, `cost       ${costText(meter)}`]
  return settle === undefined ? lines : [...lines, `settled    ${settleText(settle)}`]
}

function planText({ name, from, unknown }: NonNullable<ExplainResponse['plan']>): string {
  const named = unknown === null ? '' : `   (${shown(unknown)} is not configured)`
  const how = from === null || from === 'credential' ? '' : `   (by ${from})`
  return `${name ?? 'none'}${named || how}`
}

function organisationText(organisation: ExplainResponse['organisation']): string {
  return organisation === undefined ? '' : `   (organisation ${shown(organisation)})`
}

function costText({ cost, price }: Metered): string {
  if (price === null) return String(cost)
  return cost === null ? priceText(price) : `${cost}   (${priceText(price)})`
}

type Settle = NonNullable<ExplainResponse['settle']>

/** The parts of `settle`, in the order in which the gateway looks at them. */
function settleText(settle: Settle): string {
  const { status, max, values, otherwise, missing, bytesPerToken } = settle
  const spoken = (tokens: number | 'all') => (tokens === 'all' ? 'the reserve' : String(tokens))
  const list = (amounts: Readonly<Record<string, number | 'all'>>): string =>
    Object.entries(amounts)
      .map(([value, tokens]) => `${shown(value)}: ${spoken(tokens)}`)
      .join(', ')
  const read = readText(settle)
  return [
    ...(Object.keys(status).length === 0 ? [] : [`by status (${list(status)})`]),
    ...(read === null ? [] : [`by ${shown(read)} (${values === null ? `at most ${max}` : list(values)})`]),
    ...(read !== null && values === null ? [] : [`otherwise ${spoken(otherwise)}`]),
    ...(read === null || bytesPerToken !== null ? [] : [`${spoken(missing)} if missing`]),
  ].join(', ')
}

function readText({ header, json, sum, bytesPerToken }: Settle): string | null {
  if (header !== null) return `header ${header}`
  if (bytesPerToken !== null) return `each ${formatSize(bytesPerToken)} of the body`
  if (json === null) return null
  const members = Object.entries(sum ?? {}).map(([member, weight]) => `${weight} x ${member}`)
  const parts = [json.join(' or '), members.join(' + ')].filter((part) => part !== '')
  return `JSON ${parts.join(': ')}`
}

function repeatedText({ header, for: time, replays }: NonNullable<ExplainResponse['idempotency']>): string {
  return `costs nothing with the same ${header}, ${replays === 1 ? 'once' : `${replays} times`} within ${time}`
}

function limitLines(limits: ExplainResponse['limits']): string[] {
  const rows = limits.map(({ scope, window, used, limit, resetAt, refuses, steps }) => [
    refuses ? '!' : ' ',
    scope,
    window,
    `${used} of ${limit} used`,
    resetAt === null ? 'not running' : `ends ${resetAt}`,
    steps.join(', '),
  ])
  return inColumns(rows)
}
