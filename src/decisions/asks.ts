import { IncomingMessage } from 'node:http'
import type { Caller } from '../auth/authenticator.ts'
import { type Decided, type DecidedWindow, decideBody, refundBody, settleBody } from '../contract/decisions.ts'
import { isUserId } from '../control/user-id.ts'
import { ClientLeft, readBody } from '../edge/body/read-body.ts'
import type { IncomingRequest } from '../edge/connection.ts'
import { checkEdge } from '../edge/head-rules.ts'
import { type Denial, denial, isDenial } from '../errors.ts'
import type { Exchange, Given } from '../gateway/context.ts'
import type { Gateway } from '../gateway/gateway.ts'
import type { Stop } from '../gateway/outcome.ts'
import { type Charging, isPaid } from '../gateway/settlement.ts'
import type { Rules } from '../gateway/snapshot.ts'
import { memberNamedTwice } from '../lib/json-fault.ts'
import { type Charge, type Decision, decisionsOf, metersOf } from '../quota/charge.ts'
import { SCOPE_NAMES } from '../quota/charged-scopes.ts'
import { overOf, SCOPE_TITLES } from '../quota/refusal.ts'
import { type Limit, NOT_RUNNING, promised, resetAt } from '../quota/window.ts'
import { JSON_TYPE, type OwnResponse, writeResponse } from '../respond/response.ts'
import { idOf } from './ids.ts'
import { settleLater } from './later.ts'
import { decisionsDocument } from './openapi.ts'
import { readable } from './original.ts'
import { PATHS } from './paths.ts'
import type { Receipts } from './receipts.ts'

/** Serves services that ask by JSON, and that may settle a decision later. */

export interface AsksOptions {
  readonly gateway: Gateway
  readonly charging: Charging
  readonly rules: () => Rules
  /** Makes the ids of decisions; `null`: decisions have no ids. */
  readonly receipts: Receipts | null
  /** The version of Tollgate that the document names. */
  readonly version: string
}

/** The most bytes of a question. It may contain a request with a body of its own. */
const MAX_BODY = 1024 * 1024

export interface Asks {
  /**
   * Responds to a service. Never rejects. Calls `served` of the request's client at the end.
   * @param request whose path is one of `OF_SERVICES`, from somebody who may ask
   */
  handle(request: IncomingRequest): Promise<void>
}

export function createAsks(options: AsksOptions): Asks {
  const { gateway, charging, receipts } = options

  async function responseTo(request: IncomingRequest): Promise<OwnResponse | Denial | null> {
    const { req, res } = request
    if (req.url === PATHS.document) return req.method === 'GET' ? documentResponse(options.version) : ONLY_GET
    if (req.method !== 'POST') return ONLY_POST
    const body = await readBody(req, res, MAX_BODY)
    const json = isDenial(body) ? body : jsonOf(body)
    if (isDenial(json)) return json
    if (req.url !== PATHS.decide) return settle(options, req.url === PATHS.refund, json)
    const question = questionOf(json, request, options.rules())
    if (isDenial(question)) return question
    gateway.decide(question.request, { ...question.given, respond: (x, stop) => decisionOf(receipts, x, stop) })
    return null
  }

  return {
    async handle(request) {
      const { req, res, client, requestId } = request
      try {
        const response = await responseTo(request)
        if (response === null) return
        if (isDenial(response)) gateway.decide({ ...request, ambiguity: response }, REFUSED)
        else {
          writeResponse(req, res, response, requestId)
          client.served(request)
        }
      } catch (error) {
        if (!(error instanceof ClientLeft)) charging.observe({ type: 'internal_error', where: 'gateway', error })
        res.destroy()
        client.served(request)
      }
    },
  }
}

function documentResponse(version: string): OwnResponse {
  return { status: 200, headers: JSON_TYPE, body: JSON.stringify(decisionsDocument(version)) }
}

const ONLY_GET = denial('method_not_allowed', 'This path allows GET.', { headers: { Allow: 'GET' } })
const ONLY_POST = denial('method_not_allowed', 'This path allows POST.', { headers: { Allow: 'POST' } })

/** Refuses the question itself with its own status. `refuse_with` is for proxies only. */
const REFUSED: Given = {
  ...{ caller: null, key: null, charges: null, body: Buffer.alloc(0) },
  respond: (_, stop) => stop?.response as OwnResponse,
}

const UTF8 = new TextDecoder('utf-8', { fatal: true })

/** Denies a body that others could read in another way: a body that is not UTF-8, or one that has a member twice. */
function jsonOf(body: Buffer): unknown {
  try {
    const text = UTF8.decode(body)
    const json: unknown = JSON.parse(text)
    const twice = memberNamedTwice(text)
    return twice === null ? json : malformed({ path: [twice], message: 'is here twice' })
  } catch {
    return denial('bad_request', 'The body of this request is no JSON in UTF-8.')
  }
}

/** Header fields that a question may name but the request does not get, because they frame a message, or are made anew. */
const NOT_GIVEN: ReadonlySet<string> = new Set([
  ...['connection', 'content-length', 'transfer-encoding', 'expect', 'upgrade', 'te'],
])

interface Question {
  readonly request: IncomingRequest
  readonly given: Omit<Given, 'respond'>
}

/** The request that a service asks about, in the form in which it would have come by itself. */
function questionOf(json: unknown, asked: IncomingRequest, { names, policy }: Rules): Question | Denial {
  const { categories } = policy()
  const { success, data, error } = decideBody.safeParse(json)
  if (!success) return malformed(error.issues[0])
  const { method, path, headers = {}, body = '', user, organisation = null, plan = null, periodDay, key = null } = data
  const { charges } = data
  if (user !== undefined && !isUserId(user)) return denial('bad_request', 'user is no user id.')
  if (organisation !== null && !isUserId(organisation))
    return denial('bad_request', 'organisation is no name of an organisation.')
  if (user === undefined && (organisation ?? plan ?? periodDay ?? null) !== null)
    return denial('bad_request', 'organisation, plan and periodDay are those of user, which is missing.')
  const unknown = Object.keys(charges ?? {}).find((category) => !categories.includes(category))
  if (unknown !== undefined) return denial('bad_request', `There is no category ${JSON.stringify(unknown)}.`)
  const bytes = Buffer.from(body)
  const given = Object.entries(headers).filter(([name]) => !NOT_GIVEN.has(name.toLowerCase()))
  const hasHost = given.some(([name]) => name.toLowerCase() === 'host')
  const fields = [
    ...(hasHost ? [] : [['Host', 'localhost']]),
    ...given,
    ...(bytes.length > 0 ? [['Content-Length', String(bytes.length)]] : []),
  ] as [string, string][]
  const req = Object.assign(new IncomingMessage(asked.req.socket), {
    ...{ method, url: path, httpVersion: '1.1', complete: true, rawHeaders: fields.flat() },
    headers: Object.fromEntries(fields.map(([name, value]) => [name.toLowerCase(), value])),
  })
  if (bytes.length > 0) req.push(bytes)
  req.push(null)
  const costs = charges === undefined ? null : Object.entries(charges).filter(([, cost]) => cost > 0)
  const day = periodDay !== undefined && { periodDay }
  const caller: Caller | null =
    user === undefined ? null : { user, kind: 'trusted', organisation, plan, ...day, claims: Object.freeze({}) }
  const original = readable({ method, url: path })
  const ambiguity = isDenial(original) ? original : checkEdge(req, names)
  return { request: { ...asked, req, ambiguity }, given: { caller, key, charges: costs, body: bytes } }
}

/** The most characters of a reason: the name of an unknown member may be as long as the body. */
const LONGEST_REASON = 300

function malformed(issue?: { readonly path: readonly PropertyKey[]; readonly message: string }): Denial {
  const where = issue?.path.join('.') ?? ''
  const reason = (issue?.message ?? 'not JSON').slice(0, LONGEST_REASON)
  const what = `${where === '' ? '' : `, at ${where}`}: ${reason}`.slice(0, LONGEST_REASON)
  return denial('bad_request', `The body of this request is not what is asked for${what}.`, { reason })
}

function decisionOf(receipts: Receipts | null, x: Exchange, stop: Stop | null): OwnResponse {
  const body: Decided = {
    allowed: stop === null,
    id: stop === null && receipts !== null ? idOf(receipts, x) : null,
    user: x.caller?.user ?? null,
    charges: stop === null ? chargesOf(x) : {},
    limits: limitsOf(x),
    ...(stop !== null && refusalOf(stop.response as OwnResponse)),
  }
  return { status: 200, headers: JSON_TYPE, body: JSON.stringify(body) }
}

function refusalOf({ status, headers, facts }: OwnResponse): Partial<Decided> {
  const after = headers.indexOf('Retry-After')
  const seconds = facts?.retryAfterSeconds ?? (after < 0 ? null : Number(headers[after + 1]))
  return {
    status,
    ...(facts !== undefined && { error: facts.code, msg: facts.msg }),
    ...(facts?.quota != null && { quota: { ...facts.quota } }),
    ...(seconds !== null && { retryAfterSeconds: seconds }),
  }
}

function chargesOf({ settlement }: Exchange): Record<string, number> {
  if (!isPaid(settlement)) return {}
  return Object.fromEntries(metersOf(settlement.charge).map(({ category, cost }) => [category, cost]))
}

/** The state of each window that decided, with the tokens that remain. */
function limitsOf({ settlement }: Exchange): DecidedWindow[] {
  const { charge, decision } = settlement ?? {}
  if (charge === undefined || decision == null) return []
  const decisions = decisionsOf(decision)
  return metersOf(charge).flatMap((meter, i) => windowsOf(meter, decisions[i] as Decision))
}

function windowsOf(meter: Charge, decision: Decision): DecidedWindow[] {
  const limits = decision.limits ?? meter.limits
  return SCOPE_NAMES.flatMap((scope) =>
    (limits[scope] ?? []).map((limit: Limit, i) => {
      const { window } = limit
      const usage = decision[scope]?.[i] ?? NOT_RUNNING
      const end = usage.startedAt === 0 ? null : new Date(resetAt(usage, window)).toISOString()
      const of = { scope: SCOPE_TITLES[scope], category: meter.category, window: window.name }
      const whole = promised(limit)
      const remaining = Math.max(0, whole - usage.used)
      return { ...of, limit: whole, ...overOf(limit), remaining, resetAt: end }
    }),
  )
}

/** A refund settles each part of the charge as 0. */
const REFUND = refundBody.transform((body) => ({ ...body, charges: null }))

async function settle(
  { charging, rules, receipts }: AsksOptions,
  isRefund: boolean,
  json: unknown,
): Promise<OwnResponse | Denial> {
  const parsed = isRefund ? REFUND.safeParse(json) : settleBody.safeParse(json)
  if (!parsed.success) return malformed(parsed.error.issues[0])
  const { id } = parsed.data
  if (receipts === null) return NO_IDS
  const receipt = receipts.read(id)
  if (receipt === null) return UNKNOWN_ID
  const known = new Set(receipt.meters.map(({ category }) => category))
  const charges = parsed.data.charges ?? Object.fromEntries([...known].map((category) => [category, 0]))
  const other = Object.keys(charges).find((category) => !known.has(category))
  if (other !== undefined) return denial('bad_request', `Nothing was charged in the category ${JSON.stringify(other)}.`)
  const changed = await settleLater(charging, rules().policy(), { id, receipt }, charges)
  if (changed === null) return SILENT
  return { status: 200, headers: JSON_TYPE, body: JSON.stringify({ id, changed }) }
}

const NO_IDS = denial(
  'bad_request',
  'Settling needs decisions.token in the configuration: without it no decision has an id.',
)
const UNKNOWN_ID = denial('bad_request', 'The id is none of a decision of the last hour by a gateway with this token.')
const SILENT = denial(
  'store_unavailable',
  'The quota store has not settled this in time. Send it again: it counts once.',
)
