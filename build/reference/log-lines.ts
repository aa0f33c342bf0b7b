import { pino } from 'pino'
import { KINDS } from '../../src/control/control-store.ts'
import type { Observation } from '../../src/observe/observation.ts'
import { type LineShape, lineShapes } from '../../test/face/log-lines.ts'

/** The page of all lines of the log: messages, levels and fields as the source writes them, with the meanings of the fields. */

type Kind = Observation['type']

/** The kinds of observations whose lines stand in a part. All others are about the process. */
const PARTS: Readonly<Record<string, readonly Kind[]>> = {
  Requests: ['request', 'settled', 'bad_connection', 'one_address'],
  'Configuration and changes': [
    ...(['config_loaded', 'config_rejected', 'config_partly', 'config_warning', 'changed', 'change_unknown'] as const),
    ...(['control_followed', 'adaptive_factor'] as const),
  ],
  Store: [
    ...(['store_failed', 'store_connected', 'store_login_renewed', 'store_clock_apart', 'window_start_ahead'] as const),
    ...(['store_out', 'store_recovered', 'outage_settled', 'outage_tokens', 'refunds_lost', 'charges_lost'] as const),
    ...(['additions_lost', 'keys_evicted', 'store_warning', 'store_warning_over', 'unreadable_record'] as const),
    ...(['unreadable_record_over', 'store_lost', 'outcome_unknown'] as const),
  ],
  Credentials: [
    ...(['jwks_fetched', 'jwks_keys_refused', 'jwks_recalled', 'jwks_failed', 'introspection_out'] as const),
    ...(['introspection_recovered', 'certificate_loaded', 'certificate_expires', 'certificate_refused'] as const),
    'client_authorities_loaded',
  ],
  'Alerts and traces': ['alert_event', 'alert_failed', 'former_alert', 'spans_sent'],
  'The process': [],
}

type ChangeKind = (typeof KINDS)[number]

/** The subject of each kind of change. A kind that is missing here does not compile. */
const SUBJECTS: Readonly<Record<ChangeKind, string>> = {
  settings: '`null`',
  override: 'the user',
  organisation_override: 'the organisation',
  overrides: '`null`',
  grant: 'the id of the grant',
  reset: 'the user',
  quota_reset: '`global:CATEGORY` or `organisation:CATEGORY:ID`',
  token_created: 'the id of the access key',
  token_revoked: 'the id of the access key',
  token_opened: 'the id of the access key',
  tokens_revoked: 'the user',
  tokens_imported: '`null`',
  user_forgotten: 'what stands for the user from then on',
}

const EXPLAINED: Partial<Readonly<Record<ChangeKind, string>>> = {
  overrides: 'all of them',
  tokens_revoked: 'all of a user',
}

function subjectMeaning(): string {
  const groups = [...Map.groupBy(KINDS, (kind) => SUBJECTS[kind])]
  const of = groups.map(([subject, kinds]) => `${subject} for ${inWords(kinds.map((kind) => `\`${kind}\``))}`)
  return `whom or what the change is about: ${of.join('; ')}`
}

function nameOfKind(kind: ChangeKind): string {
  const more = EXPLAINED[kind]
  return more === undefined ? `\`${kind}\`` : `\`${kind}\` (${more})`
}

function inWords(names: readonly string[], word = 'and'): string {
  return names.length < 2 ? names.join('') : `${names.slice(0, -1).join(', ')} ${word} ${names.at(-1)}`
}

/** The meaning of a field in every line. */
const FIELDS: Readonly<Record<string, string>> = {
  address:
    'address of the client. If a proxy in `edge.trusted_proxies` sent the request, it is the address that the proxy names. The line of a request has it only with `log.address`',
  ageSeconds: 'seconds since the other gateway fetched the keys',
  aheadSeconds: 'seconds by which the start of the window lay in the future',
  alert: 'name of the alert in `alerts`',
  attempt: 'number of the attempt, from 1',
  authorities: 'number of certificates of authorities in the file',
  authShadow:
    'why the credential would have been refused. [`auth.shadow`](../callers.md#refuse-nobody-for-a-credential-yet) let the request pass',
  before: 'number of the change that was in force before',
  beyond:
    'tokens of the request beyond a [soft limit](../tuning.md#limits-with-something-beyond). For example, if 98 of 100 tokens are used and the request costs 5, it is 3. The field is missing if it would be 0, and while the store cannot be reached',
  category: 'category of the quota, such as `read`',
  charged:
    'tokens that stay charged. The field is present if this differs from `cost`, or if [the response](../costs.md#a-cost-known-afterwards) decided the cost. It is 0 if the request was refused, was a free repetition, or was given back. It can be below 0 for a [repetition](../costs.md#retries-that-cost-once) whose response costs less than the first one',
  charges: 'number of charges',
  clientStatus: 'status that the client got. It is 499 if the client disconnected before the response',
  code: 'why the connection is bad, as in the label of [`tollgate_bad_connections_total`](metrics.md#tollgate_bad_connections_total)',
  cost: 'tokens that the request costs by its rule',
  count: 'how often this happened since the last such line. The field is missing if it happened once',
  days: 'days until the certificate expires. It is below 0 after that',
  decidedAt: "when the quota decided, in milliseconds since 1970 by the store's clock",
  detail: 'details as a sentence. Credentials are hidden',
  downMs: 'milliseconds for which it did not respond',
  durationMs: 'milliseconds from the request to the end of its response',
  err: 'the error with its stack, which you can send with a report',
  error: '[error code](error-codes.md) of the gateway',
  event: 'id of the event, which the webhook also gets',
  events: 'number of events',
  everyMs: 'milliseconds after which an open WebSocket is charged again',
  exempt:
    'why the caller is [never charged](../tuning.md#who-is-never-charged): because of the `user` or of the `address`',
  factor: 'factor of [adaptive mode](../adaptive.md), such as 0.8',
  file: 'path of the file',
  files: '`pair` (certificate and key) or `client_authorities`',
  from: 'value before the change. Credentials in it are hidden',
  further: '`true` for all categories but the first, if a route charges [several](../costs.md#several-meters)',
  hash: 'first 16 characters of `sha256sum FILE`, as in `tollgate_config_info`. Key sets, authorities of the upstream and of the store, an OpenAPI document and bodies of errors count, too, if the configuration names such files. Secrets, certificates, and authorities and revocation lists of clients do not count',
  hook: 'the part of Node or of a library that the gateway looked for',
  httpStatus:
    "status of the upstream's response. It is 0 if forwarding failed, and `null` if the request was not forwarded, or if the client disconnected first",
  id: 'key of the record in its list, for example the id of a user',
  inFlight: 'requests under way',
  instead: 'plan that is used instead, or `none`',
  issuer: 'issuer of JWTs, as written in `auth.jwt`',
  keys: 'number of keys',
  kind: '[how the gateway knows the user](../concepts.md#who-and-what), if not by a JWT or an access key',
  lenient:
    'words of [`edge.lenient`](../edge.md#old-clients) and [`upstream.lenient`](../upstream.md#an-old-upstream) that allowed a fault of the request or the response',
  limit: 'tokens of the limit that refused the request',
  limits:
    'one text for each limit, with the place where it was set, such as `read, each user: 120 in 1h (tollgate.yaml:22)`',
  list: 'key in Redis or table in SQLite that holds the record',
  lost: 'what the gateway cannot do without it',
  meter: 'category of the limit that refused the request, if it is not the first category of the route',
  method: 'method of the request',
  movesNobody: '`true` if the change [affects nobody](../admin-api.md#changes)',
  namedPlan: 'plan that the credential names, if it differs from `plan`. It is `null` if the credential names no plan',
  notUpgraded:
    'why the gateway did not open a WebSocket for a request with `Upgrade`. For example, `Connection does not name Upgrade` appears if a proxy in front drops that field',
  offsetSeconds: "seconds by which the store's clock is ahead of this gateway's clock",
  openMs: 'milliseconds for which the WebSocket has been open at this charge',
  operation: 'what the gateway asked the store to do, such as `settle` or `control`',
  organisation: 'organisation that the credential names, even if no plan limits it',
  organisationDay:
    'day of the month on which the months of the organisation begin, if it differs from `periodDay`. It is `null` if the configuration names the day',
  periodDay:
    'day of the month on which the months of the user and of the organisation begin, if [the credential or an override](../tuning.md#billing-days) names it',
  others:
    'further categories of a route that charges [several](../costs.md#several-meters), each with `category`, `cost`, `charged` and `beyond`',
  outMs: 'milliseconds since the store stopped responding',
  outcome: '[how the request ended](../log.md#outcomes)',
  over: 'tokens that may be spent beyond `limit`, if the limit is a soft limit',
  path: 'path as the client wrote it, without the query and at most 1024 characters. The field is present only with `log.path`',
  pid: 'id of the process',
  plan: 'plan of the caller',
  policy:
    'for each category `refuse`, or `allow` with the share of the limits that is admitted, as set in `quota.store_outage`',
  problems: 'all mistakes, each with its place and how to correct it',
  provider: 'address of the provider in `auth.introspection`',
  reason:
    'the reason. For example, `body_price: zzz` means that the value `zzz` in the body has no price. At most 64 characters of the value are shown. For a price in the query or in a header, the word is `query_price` or `header_price`',
  replayed: '`true` for a free [repetition](../costs.md#retries-that-cost-once)',
  requested: 'tokens that the request would have cost',
  requestId: 'id of the request, which the client gets as `X-Request-Id`',
  requests: 'number of requests and WebSockets that were under way',
  resetAt: 'when the window has room again, in UTC',
  restartMs: 'milliseconds until another worker takes its place',
  revoked: 'number of certificates in the revocation list',
  route: 'rule that matched, as the configuration writes it, such as `GET /v1/user/:what`',
  rules: 'fingerprint of what the configuration decides, as in `replicas[].hash` of `/api/now`',
  scope: 'whose limit it is, which is `Personal`, `Organisation` or `Global`',
  shadow: '`true` if the quota refuses nobody',
  shadowed:
    '`true` if the quota would have refused the request, and [shadow](../tuning.md#1-shadow-what-would-be-refused) let it pass',
  since: 'when the first of these charges was made, in UTC',
  source: 'settings that make up the limit, such as `baseline x mode`',
  spanId: 'id of the span, as in `traceId`',
  spans: 'number of spans that are lost',
  status: 'status that was sent on the connection, or 0 if none was sent',
  subject: subjectMeaning(),
  timeZone: 'zone of the times in messages to clients',
  to: 'value after the change. Credentials in it are hidden',
  tokens: 'number of tokens',
  traceId: 'id of the [trace](../log.md#traces) that came with the request. If none came, the gateway has made this id',
  unfollowed:
    'limits that the change sets, but that [affect nobody](../admin-api.md#changes), each with `path`, `by` and `why`',
  until: 'when the certificate expires, in UTC',
  url: 'address on which it listens',
  used: 'tokens that were used in the window',
  user: 'user of the request, or `null` if the user is not known',
  version: 'number of the change. All changes at run time are numbered one after the other',
  warning: '[name of the warning](../runbook.md#tollgatestorewarning)',
  what: `what was changed, which is ${inWords(KINDS.map(nameOfKind), 'or')}`,
  where: 'part of the gateway',
  who: 'name of the person or of the admin token that made the change. `command line` means a command, [`schedule`](../admin-api.md#later-and-for-a-while) a scheduled change that has begun or ended, and [`guard`](../admin-api.md#a-guard) a guard that has taken a change back',
  why: 'reason that the person gave',
  window: 'window of the limit, such as `1h`',
  worker: 'number of the worker, from 1',
}

/** By message: fields with a meaning of their own. */
const OWN_FIELDS: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  'a credential names a plan that is not configured': { plan: 'plan that the credential names' },
  'a record of the store cannot be read, and is left out': {
    kind: '[kind of record](../stored-data.md#a-record-that-cannot-be-read)',
  },
  'a record of the store that could not be read was replaced, or is gone': {
    kind: '[kind of record](../stored-data.md#a-record-that-cannot-be-read)',
  },
  'certificate loaded': { what: '`gateway` or `admin`' },
  'certificate refused, the one before stays in force': { what: '`gateway` or `admin`' },
  'connections are turned away or closed: a limit is reached': {
    limit: 'key of the configuration that sets this limit',
  },
  listening: { what: '`gateway`, `admin` or `decisions`' },
  'log lines dropped: their reader is too slow, or the disk was full': { count: 'number of lines that are lost' },
  settlement: {
    charged: 'tokens that stay charged. It is 0 after a refund',
    cost: 'tokens that were charged before',
    decidedAt: "when the request was charged, in milliseconds since 1970 by the store's clock",
    requestId: 'id of the request that was charged',
  },
  'the certificate ends soon': { what: '`gateway` or `admin`' },
  'the certificate has ended': { what: '`gateway` or `admin`' },
  'the store fails': { reason: '[why the store failed](../outage.md#why-the-store-fails)' },
  'the store is out: charges are decided without it': {
    reason: '[why the store failed](../outage.md#why-the-store-fails)',
  },
  'the store is still out: charges are decided without it': {
    charges: 'number of charges since the last such line, by their result: `accepted`, `refused` or `unable`',
    reason: '[why the store failed](../outage.md#why-the-store-fails)',
  },
  'tunnel charge': {
    outcome: '`charged`, `shadowed`, `exempt`, or `refused`, which ends the WebSocket',
    requestId: 'id of the handshake',
  },
  'worker ended': { reason: 'exit code or signal' },
  'worker ended unasked': { reason: 'exit code or signal' },
}

/** By message: when the line comes, or the page with the cure. */
const MORE: Readonly<Record<string, string>> = {
  request:
    'Each request has this line. The level is 40 if forwarding failed, or if the gateway itself responded with 5xx. [Find what you need](../log.md#find-what-you-need) shows how to use the fields.',
  'tunnel charge': 'An open WebSocket [was charged again](../log.md#charges-of-an-open-websocket).',
  settlement: 'A service has reported [what a request really cost](../log.md#settlements-of-a-service).',
  'request refused on its connection': 'See [connections without a request](../log.md#connections-without-a-request).',
  'connections are turned away or closed: a limit is reached':
    'See [connections without a request](../log.md#connections-without-a-request).',
  'one address brings nearly all requests': 'See [behind a load balancer](../edge.md).',
  'configuration loaded':
    'The line is written at the start and after each reload. See [the limits in force](../log.md#the-limits-in-force).',
  'changed at run time': 'See [changes at run time](../log.md#changes-at-run-time).',
  'a scheduled change could not be made': 'See [later, and for a while](../admin-api.md#later-and-for-a-while).',
  'a guard has taken a change back': 'See [a guard](../admin-api.md#a-guard).',
  'a change at run time may have been made': 'The store failed during the change. Check whether the change was made.',
  'the store is out: charges are decided without it': 'See [while the store is out](../outage.md).',
  'the store is still out: charges are decided without it':
    'The line is written every 10 seconds. See [while the store is out](../outage.md).',
  'the store has forgotten charges': 'See [TollgateChargesLost](../runbook.md#tollgatechargeslost).',
  'the store has evicted keys, perhaps counters': 'See [TollgateKeysEvicted](../runbook.md#tollgatekeysevicted).',
  'store warning': 'See [TollgateStoreWarning](../runbook.md#tollgatestorewarning).',
  'a record of the store cannot be read, and is left out':
    'See [TollgateRecordsLeftOut](../runbook.md#tollgaterecordsleftout).',
  'log lines dropped: their reader is too slow, or the disk was full':
    'See [keep and rotate](../log.md#keep-and-rotate).',
}

const HEAD = `# Log lines and their fields

Every line of the log is a JSON object with \`level\`, \`time\` (in milliseconds since 1970) and \`msg\`. On this page each \`msg\` has a section that lists the other fields of the line. If you use [\`workers\`](configuration.md#workers), \`worker\` is the number of the process that wrote the line. [The log](../log.md) explains which lines you get and how to search them.

The level is 50 for an error, 40 for a warning and 30 for information. Lines of level 20 appear only with \`log.level: debug\`. A field is missing if it does not apply, or if the gateway did not get far enough to know its value. If something happens very often, one line stands for several events, and \`count\` says how many.
`

/** @returns the page as Markdown */
export async function logLinesPage(): Promise<string> {
  const shapes = await lineShapes()
  const rest = new Set(Object.values(PARTS).flat())
  const parts = Object.entries(PARTS).map(([title, kinds]) => ({
    title,
    lines: merged(shapes.filter(({ type }) => (kinds.length === 0 ? !rest.has(type) : kinds.includes(type)))),
  }))
  const contents = parts.map(({ title }) => `[${title}](#${title.toLowerCase().replaceAll(' ', '-')})`).join(' · ')
  const sections = parts.map(({ title, lines }) => `## ${title}\n\n${lines.map(sectionOf).join('\n')}`)
  return `${HEAD}\n${contents}\n\n${sections.join('\n')}`
}

interface Line {
  readonly msg: string
  readonly levels: readonly number[]
  readonly fields: readonly string[]
}

/** Each message once, with all levels and fields that it may have. */
function merged(shapes: readonly LineShape[]): Line[] {
  return [...Map.groupBy(shapes, ({ msg }) => msg)].map(([msg, same]) => ({
    msg,
    levels: [...new Set(same.map(({ level }) => level))].toSorted(),
    fields: [...new Set(same.flatMap(({ fields }) => fields))],
  }))
}

function sectionOf({ msg, levels, fields }: Line): string {
  const named = levels.map((level) => `${pino.levels.labels[level]} (${level})`).join(' or ')
  const more = MORE[msg] === undefined ? '' : ` ${MORE[msg]}`
  const meanings = fields.map((field) => `- \`${field}\`: ${meaningOf(msg, field)}\n`)
  const list = meanings.length === 0 ? '' : `\n${meanings.join('')}`
  return `### \`${msg}\`\n\n*Level: ${named}.*${more}\n${list}`
}

function meaningOf(msg: string, field: string): string {
  const meaning = OWN_FIELDS[msg]?.[field] ?? FIELDS[field]
  if (meaning === undefined)
    throw new Error(`build/reference/log-lines.ts does not say what ${field} of "${msg}" means`)
  return meaning
}
