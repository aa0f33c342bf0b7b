import { type IssuerKeys, parseIntrospection, parseKeys } from '../addresses.ts'
import { CALLERS } from './callers.ts'
import { domain } from './domain.ts'
import { choice, duration, either, flag, integer, list, read, section, text } from './values.ts'

/** Who may come in. */

const SHARED = ['HS256', 'HS384', 'HS512'] as const
const PUBLIC_KEY = [
  ...(['ES256', 'ES384', 'ES512', 'RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512', 'EdDSA', 'Ed25519'] as const),
] as const

const audience = text().describe('A value of the claim that names audiences')

const CLAIM = 'By path, like app.plan; at each level the longest name that fits counts'

/** A claim by its path. */
const claim = (description: string) => text({ max: 128, what: 'the path of a claim' }).describe(description)

const audiences = either('a text or a list of texts', [audience, list(audience, 1, 100).describe('Several')])
  .transform((audience) => [...new Set([audience].flat())])
  .describe('A token must name one of these in its audience_claim')

/** Whom a token is for, and whom it names. */
const CLAIMS = {
  audience_claim: claim(
    `The claim that names audiences: a text, or a list of texts, for example client_id. ${CLAIM}. Default aud`,
  ).default('aud'),
  user_claim: claim(
    `The claim that holds the user id: a text, or a whole number, which stands for its digits. ${CLAIM}. Default sub`,
  ).default('sub'),
  plan_claim: claim(
    `The claim that holds the plan: a text, a whole number, or a list, of which the first plan in quota.plans counts. ${CLAIM}. Default none: plans come from elsewhere`,
  ).optional(),
  organisation_claim: claim(
    `The claim that holds the organisation, a text or a whole number. ${CLAIM}. Default none`,
  ).optional(),
  period_day_claim: claim(
    `The claim that holds the day with which the months of the user and of the organisation begin: a whole number from 1 to 31, or its digits as a text; 29 to 31 mean the last day of a month that is shorter. ${CLAIM}. Default none: the day comes from quota.plans, or from the window`,
  ).optional(),
}

interface NamedKeys {
  readonly jwks?: IssuerKeys | undefined
  readonly secret?: string | undefined
  readonly previous_secret?: string | undefined
}

function keysOf({ jwks, secret = '', previous_secret: previous }: NamedKeys): IssuerKeys {
  return jwks ?? { kind: 'secret', secret, ...(previous !== undefined && { previous }) }
}

interface FactPaths {
  readonly plan_claim?: string | undefined
  readonly organisation_claim?: string | undefined
  readonly period_day_claim?: string | undefined
}

function factClaims(paths: FactPaths) {
  return {
    planClaim: paths.plan_claim ?? null,
    organisationClaim: paths.organisation_claim ?? null,
    periodDayClaim: paths.period_day_claim ?? null,
  }
}

export const issuer = section(
  {
    issuer: text().describe('The claim iss, exactly; with tenants, {tenantid} stands where it has the tenant'),
    tenants: either('any, or a list of tenants', [
      choice(['any']).describe('Whoever the issuer issues tokens for'),
      list(text({ max: 128 }).describe('A tenant, as the claim tid has it'), 1, 1000).describe('These only'),
    ])
      .optional()
      .describe(
        'Whose tokens are accepted of an issuer that names its tenants, like https://login.microsoftonline.com/{tenantid}/v2.0: the claim iss must name the tenant of the claim tid. Default: the issuer has one name',
      ),
    audience: audiences,
    jwks: read('https://HOST/PATH, or file:PATH', parseKeys)
      .optional()
      .describe('The issuer’s keys: an https URL (http on a loopback host only), or file:PATH relative to this file'),
    secret: text({ what: 'a secret' })
      .optional()
      .describe(
        'Shared secret instead of jwks, taken as plain text, never decoded: at least 32 bytes for HS256, 48 for HS384, 64 for HS512',
      ),
    previous_secret: text({ what: 'a secret' })
      .optional()
      .describe('Another secret that is good too, while secret is rotated. Default none'),
    algorithms: list(choice([...PUBLIC_KEY, ...SHARED]).describe('An algorithm'), 1, 14).describe(
      'Signature algorithms to accept; HS256, HS384 and HS512 only with a secret, all others only with jwks',
    ),
    ...CLAIMS,
    clock_tolerance: duration('0s', '5m')
      .prefault('30s')
      .describe(
        'How far the clocks of the issuer and of the gateway may be apart when exp, nbf and iat are looked at, 0s to 5m. Default 30s',
      ),
    typ: list(text({ max: 128 }).describe('A type'), 1, 20)
      .optional()
      .describe('Accepted values of the header typ, for example at+jwt. Default any or none'),
  },
  'An issuer of JWTs',
).transform(({ issuer, tenants, audience, algorithms, clock_tolerance, typ = null, ...claims }) => ({
  issuer,
  ...(tenants !== undefined && { tenants }),
  audiences: audience,
  keys: keysOf(claims),
  algorithms,
  audienceClaim: claims.audience_claim,
  userClaim: claims.user_claim,
  ...factClaims(claims),
  clockToleranceMs: clock_tolerance,
  types: typ,
}))

export const introspection = section(
  {
    url: read('https://HOST/PATH', parseIntrospection).describe(
      'The introspection endpoint: an https URL (http on a loopback host only)',
    ),
    client_id: text({ what: 'a client id' }).describe('The name by which the gateway logs in at the provider'),
    client_secret: text({ what: 'a secret' }).describe(
      'The secret by which the gateway logs in at the provider, sent by HTTP Basic',
    ),
    audience: audiences.optional(),
    ...CLAIMS,
  },
  'A provider that is asked about credentials (RFC 7662)',
).transform(({ url, client_id, client_secret, audience = [], ...claims }) => ({
  url,
  clientId: client_id,
  clientSecret: client_secret,
  audiences: audience,
  audienceClaim: claims.audience_claim,
  userClaim: claims.user_claim,
  ...factClaims(claims),
}))

const pem = (description: string) => text({ what: 'the path of a PEM file' }).describe(description)

const clientCertificate = domain(
  section(
    {
      ca: pem(
        'The authorities of clients, one or more certificates in PEM, relative to this file. Read again when it changes',
      ),
      crl: pem(
        'Revocation lists in PEM, one for each authority of a chain. One that has run out lets nobody in. Read again when it changes. Default none',
      ).optional(),
      user: choice(['uri', 'dns', 'email', 'common_name']).describe(
        'The name that is the user, as certificate:NAME. A certificate must have exactly one of this type',
      ),
      max_age: duration('1m', '3650d')
        .optional()
        .describe('How long after its issue a certificate is good, 1m to 3650d. Default as long as it says'),
    },
    'Certificates of clients as their credentials; needs tls',
  ),
  { max_age: 'maxAgeMs' },
)

export const auth = domain(
  section(
    {
      jwt: list(issuer, 0, 100).default([]).describe('The issuers whose JWTs are accepted. Default none'),
      introspection: list(introspection, 0, 10)
        .default([])
        .describe(
          'Who is asked about credentials that are neither access keys nor JWTs (without auth.jwt also about those), one after the other until one knows it. Default nobody',
        ),
      client_certificate: clientCertificate.optional(),
      gateway_tokens: flag().default(true).describe('Whether access keys (gw_…) are accepted. Default true'),
      credential_cache: domain(
        section(
          {
            max: integer(0, 10_000_000)
              .default(10_000)
              .describe('How many verified credentials are remembered, 0 to 10000000. Default 10000'),
            ttl: duration('0s', '1h')
              .prefault('60s')
              .describe(
                'For how long at most, 0s to 1h: a JWT for three quarters of it to all of it, an access key for 1.5 s at most. Default 60s',
              ),
          },
          'Credentials that were verified are not verified again at once',
        ),
        { ttl: 'ttlMs' },
      ).prefault({}),
      ...CALLERS,
    },
    'How the gateway finds out who sends a request, and which credentials it accepts',
  ),
  {},
)
