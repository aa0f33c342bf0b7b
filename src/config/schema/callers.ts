import { z } from 'zod'
import type { CredentialSource } from '../../inputs/credential-sources.ts'
import { isFieldName } from '../../lib/field-names.ts'
import { callerHeaderProblem, cookieProblem } from '../headers.ts'
import { quote } from '../problems.ts'
import type { Reading } from '../units.ts'
import { domain } from './domain.ts'
import { choice, either, flag, integer, list, read, section, text } from './values.ts'

/** Where it stands who asks, and what becomes of those who do not say so. */

const isName = (text: string) => isFieldName(text, 128)
/** Written in one way, percent-encoded or not. */
const isParameter = (text: string) => /^[\w.~-]{1,128}$/.test(text)

const judged = (what: string, problemOf: (name: string) => string | null, description: string) =>
  read(what, (name): Reading<string> => {
    const problem = problemOf(name)
    return problem === null ? { value: name } : { problem }
  }).describe(description)

const spelt = (what: string, isGood: (name: string) => boolean, description: string) =>
  judged(
    what,
    (name) => (isGood(name) ? null : `${quote(name)} is not ${what}: write letters, digits and "-"`),
    description,
  )

const header = (description: string) => judged('a header name', callerHeaderProblem, description)

const PLACES = {
  header: header('A field that holds the credential alone, or behind a scheme').optional(),
  scheme: spelt(
    'a scheme',
    isName,
    'Of a header: what stands before the credential, as in Authorization: Token …',
  ).optional(),
  cookie: judged('a cookie name', cookieProblem, 'The name of the cookie that holds the credential').optional(),
  query: spelt('a parameter name', isParameter, 'The parameter of the query that holds the credential').optional(),
}

type Kind = Exclude<CredentialSource['kind'], 'bearer'>
type Place = { readonly [K in Kind | 'scheme']?: string | undefined }

function sourceOf(place: Place, context: z.RefinementCtx): CredentialSource {
  const { scheme, ...rest } = place
  const given = Object.entries(rest).filter((entry): entry is [Kind, string] => entry[1] !== undefined)
  const problem = problemOf(given.length, scheme !== undefined && place.header === undefined)
  const [[kind, name] = ['cookie', ''] as const] = given
  if (problem === null) return kind === 'header' ? { kind, name, scheme: scheme ?? null } : { kind, name }
  context.addIssue({ code: 'custom', message: problem, input: place })
  return z.NEVER
}

/** Each place is an entry of its own, so that their order is plain. */
function problemOf(places: number, hasLoneScheme: boolean): string | null {
  if (places > 1) return 'names several places: write an entry for each'
  if (hasLoneScheme) return 'has a scheme without a header: add header: NAME, or remove it'
  return places === 1 ? null : 'names no place: write one like { header: X-API-Key }'
}

const from = list(
  either('bearer or a place like { header: X-API-Key }', [
    choice(['bearer'])
      .transform((): CredentialSource => ({ kind: 'bearer' }))
      .describe('Authorization: Bearer CREDENTIAL'),
    section(
      {
        ...PLACES,
        websocket_protocol: spelt(
          'a subprotocol',
          isName,
          'Of a WebSocket handshake: Sec-WebSocket-Protocol: NAME, CREDENTIAL',
        ).optional(),
      },
      'A place: exactly one key, and scheme with header',
    ).transform(sourceOf),
  ]).describe('Where a credential may be'),
  0,
  16,
).describe(
  'Where a credential may be, in the order that counts: bearer, { header }, { header, scheme }, { cookie }, { query }, { websocket_protocol }. What is read is not forwarded. Default [bearer]',
)

const unverifiedKeys = section(
  {
    ...PLACES,
    user_claim: text({ max: 128, what: 'the path of a claim' })
      .optional()
      .describe(
        'Of a key that is a JWT: the claim that names the user, which nobody verifies. Only while quota.shadow is true. Default: each JWT is a user of its own',
      ),
  },
  'Where a key is that only the upstream can check: its user is a hash of the key',
  'one place like { header: X-API-Key }',
).transform(({ user_claim: userClaim, ...place }, context): CredentialSource & { readonly userClaim?: string } => {
  const source = sourceOf(place, context)
  return userClaim === undefined ? source : { ...source, userClaim }
})

const trusted = domain(
  section(
    {
      user: header('The field that names the user'),
      organisation: header('The field that names the organisation. Default none').optional(),
      plan: header('The field that names the plan. Default none').optional(),
      encoding: choice(['none', 'percent'])
        .default('none')
        .describe(
          'How the proxy writes them: none is UTF-8 as it is; percent is visible ASCII, with %C3%BC for ü and %25 for %, as Tollgate and others write them. Default none',
        ),
    },
    'Fields in which a peer of edge.trusted_proxies names the caller. Of anybody else they are dropped',
    'a map like { user: X-Forwarded-User }',
  ),
  {},
)

const anonymous = section(
  {
    by: choice(['address'])
      .default('address')
      .describe('What tells callers without a credential apart: each address is a user. Default address'),
    ipv4: integer(8, 32)
      .default(32)
      .describe(
        'How many bits of an IPv4 address tell callers apart: with 24, the 256 addresses of a /24 are one user, 8 to 32. Default 32',
      ),
    ipv6: integer(32, 128)
      .default(64)
      .describe(
        'How many bits of an IPv6 address tell callers apart: with 64, a whole /64 is one user, 32 to 128. Default 64',
      ),
    plan: text({ max: 256 }).optional().describe('The plan of callers without a credential. Default none'),
  },
  'Who has no credential is the user of an address, on every charged rule without anonymous: false',
  'a map like { by: address }',
).transform(({ ipv4, ipv6, plan = null }) => ({ ipv4, ipv6, plan }))

/** The keys of `auth` that say who asks. */
export const CALLERS = {
  from: from.prefault(['bearer']),
  several: choice(['refuse', 'first'])
    .default('refuse')
    .describe(
      'What becomes of a request with two different credentials: refuse (400), or first, that of the place that stands first in from. Default refuse',
    ),
  unverified_keys: unverifiedKeys.optional(),
  trusted: trusted.optional(),
  anonymous: anonymous.optional(),
  shadow: flag()
    .default(false)
    .describe(
      'true lets everybody in whose credential is missing or not good, as the user of an address: counted, and in the log. Default false',
    ),
}
