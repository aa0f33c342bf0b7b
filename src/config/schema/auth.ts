import { type IssuerKeys, parseIntrospection, parseKeys } from '../addresses.ts'
import { CALLERS } from './callers.ts'
import { domain } from './domain.ts'
import { choice, duration, either, flag, integer, list, read, section, text } from './values.ts'

/** Who may come in. */

const SHARED = ['HS256', 'HS384', 'HS512'] as const
const PUBLIC_KEY = [
  ...(['ES256', 'ES384', 'ES512', 'RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512', 'EdDSA', 'Ed25519'] as const),
] as const

const audience = text({ description: 'A value of the claim that names audiences' })

const CLAIM = 'By path, like app.plan; at each level the longest name that fits counts'

/** A claim by its path. */
const claim = (description: string) => text({ description }, { max: 128, what: 'the path of a claim' })

const audiences = either('a text or a list of texts', [audience, list(audience, 1, 100, { description: 'Several' })], {
  description: 'A token must name one of these in its audience_claim',
}).transform((audience) => [...new Set([audience].flat())])

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
    issuer: text({ description: 'The claim iss, exactly; with tenants, {tenantid} stands where it has the tenant' }),
    tenants: either(
      'any, or a list of tenants',
      [
        choice(['any'], { description: 'Whoever the issuer issues tokens for' }),
        list(text({ description: 'A tenant, as the claim tid has it' }, { max: 128 }), 1, 1000, {
          description: 'These only',
        }),
      ],
      {
        description:
          'Whose tokens are accepted of an issuer that names its tenants, like https://login.microsoftonline.com/{tenantid}/v2.0: the claim iss must name the tenant of the claim tid. Default: the issuer has one name',
      },
    ).optional(),
    audience: audiences,
    jwks: read('https://HOST/PATH, or file:PATH', parseKeys, {
      description: 'The issuer’s keys: an https URL (http on a loopback host only), or file:PATH relative to this file',
    }).optional(),
    secret: text(
      {
        description:
          'Shared secret instead of jwks, taken as plain text, never decoded: at least 32 bytes for HS256, 48 for HS384, 64 for HS512',
      },
      { what: 'a secret' },
    ).optional(),
    previous_secret: text(
      { description: 'Another secret that is good too, while secret is rotated. Default none' },
      { what: 'a secret' },
    ).optional(),
    algorithms: list(choice([...PUBLIC_KEY, ...SHARED], { description: 'An algorithm' }), 1, 14, {
      description:
        'Signature algorithms to accept; HS256, HS384 and HS512 only with a secret, all others only with jwks',
    }),
    ...CLAIMS,
    clock_tolerance: duration('0s', '5m', {
      description:
        'How far the clocks of the issuer and of the gateway may be apart when exp, nbf and iat are looked at, 0s to 5m. Default 30s',
    }).prefault('30s'),
    typ: list(text({ description: 'A type' }, { max: 128 }), 1, 20, {
      description: 'Accepted values of the header typ, for example at+jwt. Default any or none',
    }).optional(),
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
    url: read('https://HOST/PATH', parseIntrospection, {
      description: 'The introspection endpoint: an https URL (http on a loopback host only)',
    }),
    client_id: text({ description: 'The name by which the gateway logs in at the provider' }, { what: 'a client id' }),
    client_secret: text(
      { description: 'The secret by which the gateway logs in at the provider, sent by HTTP Basic' },
      { what: 'a secret' },
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

const pem = (description: string) => text({ description }, { what: 'the path of a PEM file' })

const clientCertificate = domain(
  section(
    {
      ca: pem(
        'The authorities of clients, one or more certificates in PEM, relative to this file. Read again when it changes',
      ),
      crl: pem(
        'Revocation lists in PEM, one for each authority of a chain. One that has run out lets nobody in. Read again when it changes. Default none',
      ).optional(),
      user: choice(['uri', 'dns', 'email', 'common_name'], {
        description: 'The name that is the user, as certificate:NAME. A certificate must have exactly one of this type',
      }),
      max_age: duration('1m', '3650d', {
        description: 'How long after its issue a certificate is good, 1m to 3650d. Default as long as it says',
      }).optional(),
    },
    'Certificates of clients as their credentials; needs tls',
  ),
  { max_age: 'maxAgeMs' },
)

export const auth = domain(
  section(
    {
      jwt: list(issuer, 0, 100, { description: 'The issuers whose JWTs are accepted. Default none' }).default([]),
      introspection: list(introspection, 0, 10, {
        description:
          'Who is asked about credentials that are neither access keys nor JWTs (without auth.jwt also about those), one after the other until one knows it. Default nobody',
      }).default([]),
      client_certificate: clientCertificate.optional(),
      gateway_tokens: flag({ description: 'Whether access keys (gw_…) are accepted. Default true' }).default(true),
      credential_cache: domain(
        section(
          {
            max: integer(0, 10_000_000, {
              description: 'How many verified credentials are remembered, 0 to 10000000. Default 10000',
            }).default(10_000),
            ttl: duration('0s', '1h', {
              description:
                'For how long at most, 0s to 1h: a JWT for three quarters of it to all of it, an access key for 1.5 s at most. Default 60s',
            }).prefault('60s'),
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
