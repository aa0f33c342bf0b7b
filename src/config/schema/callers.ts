import { z } from 'zod'
import type { CredentialSource } from '../../inputs/credential-sources.ts'
import { isFieldName } from '../../lib/field-names.ts'
import { callerHeaderProblem, cookieProblem } from '../headers.ts'
import { quote } from '../problems.ts'
import type { Reading } from '../units.ts'
import { domain } from './domain.ts'
import { choice, either, flag, integer, list, or, read, section, text } from './values.ts'

/** How callers are identified, and what happens to callers without an accepted credential. */

const isName = (text: string) => isFieldName(text, 128)
/** Unreserved characters only (RFC 3986), which no client needs to percent-encode. */
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
  header: header('The header that holds the credential').optional(),
  scheme: spelt(
    'a scheme',
    isName,
    'The word before the credential in the header, such as Token in Authorization: Token …',
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

/** An entry may name only one place, so that the order of places is clear. */
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
          'The name of the subprotocol with which a web page sends the credential of a WebSocket, as Sec-WebSocket-Protocol: NAME, CREDENTIAL',
        ).optional(),
      },
      'A place where a credential may be. Write exactly one key, or scheme together with header',
    ).transform(sourceOf),
  ]).describe('Where a credential may be'),
  0,
  16,
).describe(
  'The places where the gateway looks for a credential, in this order: bearer (Authorization: Bearer), { header }, { header, scheme }, { cookie }, { query } or { websocket_protocol }. The credential is not forwarded to the upstream. Default [bearer]',
)

const unverifiedKeys = section(
  {
    ...PLACES,
    user_claim: text({ max: 128, what: 'the path of a claim' })
      .optional()
      .describe(
        'If the key is a JWT, the claim that names the user. The gateway does not verify the JWT, so this is only for a trial while quota.shadow is true. Default: each JWT is a user of its own',
      ),
  },
  'The place of an API key that only the upstream can check. The gateway does not verify the key, but counts each key as a user, named by a hash of the key',
  'one place like { header: X-API-Key }',
).transform(({ user_claim: userClaim, ...place }, context): CredentialSource & { readonly userClaim?: string } => {
  const source = sourceOf(place, context)
  return userClaim === undefined ? source : { ...source, userClaim }
})

const trusted = domain(
  section(
    {
      user: header('The header that names the user'),
      organisation: header('The header that names the organisation. Default none').optional(),
      plan: header('The header that names the plan. Default none').optional(),
      encoding: or(choice(['none', 'percent']), 'none').describe(
        'How the proxy writes characters that are not visible ASCII. With none it sends UTF-8 as it is. With percent it sends %C3%BC for ü and %25 for %, as Tollgate itself does',
      ),
    },
    'Headers in which a proxy in front names the user, after it has signed the user in. The gateway believes them only from a peer in edge.trusted_proxies, and drops them if anybody else sends them',
    'a map like { user: X-Forwarded-User }',
  ),
  {},
)

const anonymous = section(
  {
    by: or(choice(['address']), 'address').describe(
      'How callers without a credential are told apart. With address, each address counts as a user',
    ),
    ipv4: or(integer(8, 32), 32).describe(
      'How many bits of an IPv4 address tell callers apart. With 24, the 256 addresses of a /24 count as one user',
    ),
    ipv6: or(integer(32, 128), 64).describe(
      'How many bits of an IPv6 address tell callers apart. With 64, a whole /64 counts as one user',
    ),
    plan: text({ max: 256 }).optional().describe('The plan of callers without a credential. Default none'),
  },
  'Lets callers without a credential pass, and counts each of them by its address. It applies to every charged rule except those with anonymous: false',
  'a map like { by: address }',
).transform(({ ipv4, ipv6, plan = null }) => ({ ipv4, ipv6, plan }))

/** The keys of `auth` about callers. */
export const CALLERS = {
  from: from.prefault(['bearer']),
  several: or(choice(['refuse', 'first']), 'refuse').describe(
    'What happens to a request with two different credentials. refuse responds with 400, and first uses the credential in the place that stands first in from',
  ),
  unverified_keys: unverifiedKeys.optional(),
  trusted: trusted.optional(),
  anonymous: anonymous.optional(),
  shadow: or(flag(), false).describe(
    'With true, requests without a good credential pass. They are counted by their address, and the log says what is wrong with the credential. Use it for a trial, before you require credentials',
  ),
}
