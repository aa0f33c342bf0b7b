import { type IssuerKeys, parseIntrospection, parseKeys } from '../addresses.ts'
import { CALLERS } from './callers.ts'
import { domain } from './domain.ts'
import { choice, duration, either, flag, integer, list, or, read, section, text } from './values.ts'

/** Which credentials the gateway accepts. */

const SHARED = ['HS256', 'HS384', 'HS512'] as const
const PUBLIC_KEY = [
  ...(['ES256', 'ES384', 'ES512', 'RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512', 'EdDSA', 'Ed25519'] as const),
] as const

const audience = text().describe('A value of the claim that names audiences')

const CLAIM =
  'A claim inside another one is written as a path, like app.plan. If a name itself contains a dot, the longest name that fits counts'

/** A claim, by its path. */
const claim = (description: string) => text({ max: 128, what: 'the path of a claim' }).describe(description)

const audiences = either('a text or a list of texts', [audience, list(audience, 1, 100).describe('Several')])
  .transform((audience) => [...new Set([audience].flat())])
  .describe(
    'For whom a token must be meant: the claim audience_claim must contain this value, or one value of this list. It is usually the name of your API at the provider',
  )

/** The claims of a token that the gateway reads: audience, user, plan, organisation and period day. */
const CLAIMS = {
  audience_claim: claim(
    `The claim that names for whom a token is meant, for example client_id. Its value is a text or a list of texts. ${CLAIM}. Default aud`,
  ).default('aud'),
  user_claim: claim(
    `The claim that contains the user id. Its value is a text, or a whole number, whose digits are the id. ${CLAIM}. Default sub`,
  ).default('sub'),
  plan_claim: claim(
    `The claim that contains the plan of the user. Its value is a text, a whole number, or a list. In a list, the first plan that is in quota.plans counts. ${CLAIM}. Default none: plans come from overrides or quota.default_plan`,
  ).optional(),
  organisation_claim: claim(
    `The claim that contains the organisation of the user. Its value is a text or a whole number. ${CLAIM}. Default none`,
  ).optional(),
  period_day_claim: claim(
    `The claim that contains the day on which the months of the user and of the organisation begin, such as a billing day. Its value is a whole number from 1 to 31, or its digits as a text. In a shorter month the last day counts. ${CLAIM}. Default none: the day comes from quota.plans, or from the window`,
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
    issuer: text().describe(
      'The value of the claim iss, letter by letter, such as https://id.example.org. With tenants, write {tenantid} in place of the tenant',
    ),
    tenants: either('any, or a list of tenants', [
      choice(['any']).describe('Whoever the issuer issues tokens for'),
      list(text({ max: 128 }).describe('A tenant, as the claim tid has it'), 1, 1000).describe('These only'),
    ])
      .optional()
      .describe(
        'Only for an issuer that has a name for each tenant, like https://login.microsoftonline.com/{tenantid}/v2.0. It says whose tokens are accepted: any, or a list of tenants. The claim iss must contain the tenant of the claim tid. Default: the issuer has one name',
      ),
    audience: audiences,
    jwks: read('https://HOST/PATH, or file:PATH', parseKeys)
      .optional()
      .describe(
        'Where the public keys of the issuer are: an https URL, or file:PATH relative to this file. Providers call the URL jwks_uri. http is allowed only for a loopback host',
      ),
    secret: text({ what: 'a secret' })
      .optional()
      .describe(
        'The secret with which the issuer signs, for HS256, HS384 and HS512, instead of jwks. The text is used as it is and never decoded. It needs at least 32 bytes for HS256, 48 for HS384 and 64 for HS512',
      ),
    previous_secret: text({ what: 'a secret' })
      .optional()
      .describe(
        'A second secret that is also accepted, so that tokens of the old secret stay good while you rotate it. Default none',
      ),
    algorithms: list(choice([...PUBLIC_KEY, ...SHARED]).describe('An algorithm'), 1, 14).describe(
      'The signature algorithms that are accepted, such as [RS256]. HS256, HS384 and HS512 need secret, and all others need jwks',
    ),
    ...CLAIMS,
    clock_tolerance: or(duration('0s', '5m'), '30s').describe(
      'By how much the clocks of the issuer and of the gateway may differ. A token is still accepted for this time after its exp, and already for this time before its nbf',
    ),
    typ: list(text({ max: 128 }).describe('A type'), 1, 20)
      .optional()
      .describe(
        'The accepted values of the header typ of a token, for example at+jwt, which excludes ID tokens. Default any or none',
      ),
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
      'The introspection endpoint of the provider, as an https URL. http is allowed only for a loopback host',
    ),
    client_id: text({ what: 'a client id' }).describe('The name with which the gateway logs in at the provider'),
    client_secret: text({ what: 'a secret' }).describe(
      'The secret with which the gateway logs in at the provider. It is sent by HTTP Basic',
    ),
    audience: audiences.optional(),
    ...CLAIMS,
  },
  'A provider that the gateway asks whether a credential is good (RFC 7662)',
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
        'A PEM file with the certificates of the authorities that issue client certificates. Its path is relative to this file, and it is read again when it changes',
      ),
      crl: pem(
        'A PEM file with revocation lists, one for each authority of a chain. If a list has expired, no certificate of its authority is accepted. The file is read again when it changes. Default none',
      ).optional(),
      user: choice(['uri', 'dns', 'email', 'common_name']).describe(
        'The type of name in the certificate that names the user. With dns and the name shop.example.org, the user is certificate:shop.example.org. A certificate must have exactly one name of this type',
      ),
      max_age: duration('1m', '3650d')
        .optional()
        .describe(
          'How long after its issue a certificate is accepted, even if it is valid for longer. 1m to 3650d. Default as long as the certificate says',
        ),
    },
    'Accepts the TLS certificate of a client as its credential. It needs tls',
  ),
  { max_age: 'maxAgeMs' },
)

export const auth = domain(
  section(
    {
      jwt: list(issuer, 0, 100)
        .default([])
        .describe('The issuers of JWTs that the gateway accepts as credentials. Default none'),
      introspection: list(introspection, 0, 10)
        .default([])
        .describe(
          'Providers that the gateway asks about a credential that it cannot verify itself, because the credential is neither an access key nor a JWT. Without auth.jwt it also asks about JWTs. The providers are asked one after the other until one of them knows the credential. Default none',
        ),
      client_certificate: clientCertificate.optional(),
      gateway_tokens: or(flag(), true).describe('Whether access keys (gw_…) are accepted'),
      credential_cache: domain(
        section(
          {
            max: or(integer(0, 10_000_000), 10_000).describe('How many verified credentials the gateway remembers'),
            ttl: or(duration('0s', '1h'), '60s').describe(
              'How long the gateway remembers a verified credential at most. It remembers an access key for at most 1.5 s, so that a revoked key is soon refused',
            ),
          },
          'The gateway remembers verified credentials for a while, because verifying each request again would cost CPU',
        ),
        { ttl: 'ttlMs' },
      ).prefault({}),
      ...CALLERS,
    },
    'How the gateway finds out who sends a request, and which credentials it accepts',
  ),
  {},
)
