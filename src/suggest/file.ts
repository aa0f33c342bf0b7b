import { counted } from '../lib/counted.ts'
import { shown } from '../lib/shown.ts'
import { moment, percent } from '../replay/print.ts'
import type { Logs } from '../replay/read-logs.ts'
import { UNCHARGED } from '../replay/tariffs.ts'
import type { Callers, Credentials, Draft, SuggestedLimit, SuggestedRoute } from './draft.ts'
import { UNMATCHED } from './drawn-limits.ts'
import type { Margin } from './limits.ts'
import { OPEN_EDGE, unverifiedKeys } from './openness.ts'
import { WINDOWS } from './peaks.ts'
import type { SuggestedRule } from './route-map.ts'
import { LEFT_OUT, type LeftOut, type Some } from './survey.ts'
import type { Share, Verdict } from './verdict.ts'

/** A draft as the text of a configuration. Texts from a log are plain: names of routes that are valid in any YAML. */

/** The facts that the comments state. */
export interface Facts {
  readonly logs: Logs
  readonly span: Span
  readonly margin: Margin
  readonly leftOut: ReadonlyMap<LeftOut, Some>
  /** Paths that only failed, the most frequent ones first. */
  readonly failed: readonly SuggestedRule[]
  readonly verdict: Verdict
}

/** First and last request, in milliseconds since the epoch. */
export interface Span {
  readonly from: number
  readonly to: number
}

/** @param facts for the comments. Default no comments with facts */
export function textOf(draft: Draft, facts: Facts | null = null): string {
  return [
    ...(facts === null ? [] : [...headOf(facts), '']),
    ...upstreamOf(draft),
    '',
    ...PLACES,
    '',
    ...authOf(draft),
    '',
    'edge:',
    ...OPEN,
    '  # Each spelling of a path costs the same. Where the service tells them apart, write exact.',
    '  match: { case: fold, trailing_slash: ignore, trailing_dots: exact }',
    '  # The load balancer, if there is one: else all clients have its address.',
    '  # trusted_proxies: [10.0.0.0/8]',
    '',
    'quota:',
    '  # The quota refuses nobody yet. Set shadow to false when the dashboard shows that the limits fit.',
    '  shadow: true',
    ...reserveOf(draft),
    '  baselines:',
    ...limitsOf(draft.limits, facts?.verdict ?? null),
    '',
    '# Paths that no rule matches are forwarded, and the dashboard counts and shows them. Give rules to those that are meant, then write',
    '# refuse here when you set quota.shadow to false: the others get 404 from then on.',
    `unmatched: { category: ${UNMATCHED.category}, cost: ${UNMATCHED.cost}, shadow: true }`,
    '',
    '# The most specific rule wins, whatever the order.',
    'routes:',
    ...draft.routes.map((route) => routeOf(route, draft.callers)),
    ...failedOf(facts?.failed ?? []),
    '',
  ].join('\n')
}

function headOf({ logs, span, margin, leftOut, verdict }: Facts): string[] {
  const { refused, charged } = verdict.total
  const { percentile, headroom } = margin
  return [
    `Suggested from ${counted(logs.journal.size, 'request')}, ${moment(span.from)} to ${moment(span.to)}.`,
    `A limit is what ${percentile} % of users stayed within, each in the busiest run of the window, times ${headroom}, rounded up to two digits.`,
    `Together the limits would have refused ${sharesOf(refused, charged)}.`,
    '"tollgate replay" with this file and the same logs refuses the same. Counters were empty when the logs began.',
    'Paths are as the logs have them: take secrets out before you share this file.',
    ...(span.to - span.from < WINDOWS[0].ms
      ? ['The logs cover less than an hour, so limits are low: take longer ones.']
      : []),
    ...(logs.unreadable > 0
      ? [`${counted(logs.unreadable, 'line')} cannot be read: "tollgate replay" shows some.`]
      : []),
    ...[...leftOut].map(
      ([why, { count, examples }]) =>
        `${counted(count, 'request is', 'requests are')} ${LEFT_OUT[why]}: ${examples.join(', ')}.`,
    ),
    ...[...verdict.notCharged].map(
      ([why, count]) => `${counted(count, 'request is', 'requests are')} not charged: ${UNCHARGED[why]}.`,
    ),
    ...(logs.beyond > 0
      ? [
          `${counted(logs.beyond, 'later request does', 'later requests do')} not count: choose a part with --from and --to.`,
        ]
      : []),
  ].map((line) => `# ${line}`)
}

const PLACEHOLDER = 'http://127.0.0.1:9000'

function upstreamOf({ upstream }: Draft): string[] {
  const url = `  url: ${JSON.stringify(upstream ?? PLACEHOLDER)}`
  return [
    'upstream:',
    upstream === null ? `${url} # a placeholder: write where the service is` : url,
    '  # The service gets the credentials as before. Take this out if it need not see them any more.',
    '  pass_authorization: true',
  ]
}

/** Commented-out settings, with their defaults except for the token. */
const PLACES = [
  '# Uncomment what has to differ: where clients connect, where counters are kept, and the zone of times in a 429.',
  '# listen: 0.0.0.0:8080',
  '# store: sqlite:./tollgate.db',
  '# time_zone: Asia/Shanghai',
  '# For the dashboard, on 127.0.0.1:9090. Make a token: export TOLLGATE_ADMIN_TOKEN=$(openssl rand -hex 32)',
  `# admin: { token: "\${TOLLGATE_ADMIN_TOKEN}" }`,
]

/** Settings that let through in shadow what clients may send to a service without a gateway. */
const OPEN = [
  '  # Until you set quota.shadow to false, these lines let through all that clients may send to the service without a gateway.',
  '  # Then take out what the service does not need: check says which requests each of them opens.',
  ...Object.entries(OPEN_EDGE).map(([key, value]) => `  ${key}: ${value}`),
]

function authOf(draft: Pick<Draft, 'callers' | 'credentials' | 'key'>): string[] {
  const { callers, credentials } = draft
  const field = knownField(draft)
  return [
    ...(field === null ? CALLERS[callers] : CALLERS_BY_KEY),
    'auth:',
    '  # Nobody gets 401 yet: who has no credential, or a wrong one, is forwarded, counted and shown on the dashboard. Write false when',
    '  # the dashboard shows that nobody is missed.',
    '  shadow: true',
    '  several: first',
    ...(isAuthorization(field) ? ['  gateway_tokens: false'] : ACCESS_KEYS),
    ...(callers === 'addresses' ? ['  anonymous: { by: address }'] : []),
    ...(field === null ? [] : keysIn(field, credentials)),
    ...(credentials.hasJwts || !credentials.hasKeys
      ? [`  # JWTs of your identity provider.${credentials.hasJwts ? ' The logs show some.' : ''}`, ...JWTS]
      : []),
    ...(credentials.hasKeys && field === null ? KEYS : []),
  ]
}

/** The field of the logs' credentials; `null` if the logs show no credentials, or if their field is unknown. */
function knownField({ credentials: { hasJwts, hasKeys }, key }: Pick<Draft, 'credentials' | 'key'>): string | null {
  return hasJwts || hasKeys ? key : null
}

/** Whether the field is Authorization: its value is then read only as a key of the service. */
function isAuthorization(field: string | null): boolean {
  return field !== null && /^authorization$/i.test(field)
}

const ACCESS_KEYS = ['  # Access keys of this gateway: tollgate token create', '  gateway_tokens: true']

/** The lines of keys, as a trial has them. */
function keysIn(field: string, { hasJwts }: Credentials): string[] {
  return [
    `  # Callers as the trial knew them, by the field ${shown(field)}, which only the service checks.`,
    ...(hasJwts
      ? [
          '  # A JWT counts for its sub, which nobody verifies: name its issuer below before you set quota.shadow to false.',
        ]
      : []),
    ...(isAuthorization(field) ? ['  from: []'] : []),
    `  unverified_keys: ${unverifiedKeys(field).replaceAll('${', () => '$${')}`,
  ]
}

const CALLERS_BY_KEY = ['# The logs name users by what they sent. Read in auth what vouches for them.']
const WHO = '# The logs name users. Uncomment in auth what vouches for them, and write your own names there.'
const CALLERS: Readonly<Record<Callers, readonly string[]>> = {
  users: [WHO],
  addresses: ['# The logs name no users: each address is one. Whoever shows a credential is its user.'],
  both: [WHO, '# Rules with anonymous: true also had callers without a user. Each of their addresses is one.'],
}

const JWTS = [
  '  # jwt:',
  '  #   - issuer: https://id.example.org',
  '  #     audience: my-service',
  '  #     jwks: https://id.example.org/.well-known/jwks.json',
  '  #     algorithms: [ES256, RS256]',
]

const KEYS = [
  '  # Keys that only the service can check, with quota.reserve. The logs show some. Either behind Authorization: Bearer:',
  '  # from: []',
  '  # unverified_keys: { header: Authorization, scheme: Bearer }',
  '  # or in a field of their own:',
  '  # unverified_keys: { header: X-API-Key }',
]

/** The reserve for known users belongs to the keys: it is a line or a comment like them. */
function reserveOf(draft: Pick<Draft, 'credentials' | 'key'>): string[] {
  const isLine = knownField(draft) !== null
  if (!isLine && !draft.credentials.hasKeys) return []
  return [
    '  # With unverified_keys: anybody can make up keys, so known users keep a part of the global limits.',
    `  ${isLine ? '' : '# '}reserve: { share: 20%, known_after: 1d, remember: 30d }`,
  ]
}

/** The most failed paths that are listed. Nobody reads more. */
const MOST_FAILED = 20

function failedOf(failed: readonly SuggestedRule[]): string[] {
  if (failed.length === 0) return []
  const more = failed.length - MOST_FAILED
  return [
    '  # Nobody got anything from these, as each request got a response of 4xx or 5xx. Uncomment what the service has all the same.',
    ...failed
      .slice(0, MOST_FAILED)
      .map(
        ({ match, category, requests }) =>
          `  # - { match: ${match}, category: ${category}, cost: 1 } # ${counted(requests, 'request')}`,
      ),
    ...(more > 0 ? [`  # And ${more} more.`] : []),
  ]
}

function limitsOf(limits: readonly SuggestedLimit[], verdict: Verdict | null): string[] {
  const lines: string[] = []
  let [scope, category] = ['', '']
  for (const limit of limits) {
    if (limit.scope !== scope) lines.push(`    ${limit.scope}:`)
    if (limit.scope !== scope || limit.category !== category) lines.push(`      ${limit.category}:`)
    ;[scope, category] = [limit.scope, limit.category]
    lines.push(`        ${limit.window}: ${limit.limit}${verdict === null ? '' : ` # ${reasonOf(limit, verdict)}`}`)
  }
  return lines
}

function reasonOf({ scope, category, window, why }: SuggestedLimit, verdict: Verdict): string {
  const { refused, charged } = verdict.of(scope, category, window)
  return `${why}; would have refused ${sharesOf(refused, charged)}`
}

function routeOf(route: SuggestedRoute, callers: Callers): string {
  const { match, category, cost, isPublic, isAnonymous, requests, medianMs } = route
  if (isPublic) return `  - { match: ${match}, public: true } # as in the log`
  const anonymous = isAnonymous && callers === 'both' ? ', anonymous: true' : ''
  const time = medianMs === null ? '' : `, about ${shortMs(medianMs)}`
  return `  - { match: ${match}, category: ${category}, cost: ${cost}${anonymous} } # ${counted(requests, 'request')}${time}`
}

function sharesOf(part: Share, whole: Share): string {
  const of = (name: keyof Share, what: string) =>
    `${part[name]} of ${whole[name]} ${what} (${percent(part[name], whole[name])})`
  return `${of('requests', 'requests')}, ${of('users', 'users')}`
}

function shortMs(ms: number): string {
  return ms < 1 ? '1 ms' : `${Number(ms.toPrecision(2))} ms`
}
