import { parseKeys } from '../addresses.ts'
import { domain } from './domain.ts'
import { choice, duration, either, flag, integer, list, read, section, text } from './values.ts'

/** Who may come in. */

const SHARED = ['HS256', 'HS384', 'HS512'] as const
const PUBLIC_KEY = [
  ...(['ES256', 'ES384', 'ES512', 'RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512', 'EdDSA', 'Ed25519'] as const),
] as const

const audience = text({ description: 'A value of the claim aud' })

export const issuer = section(
  {
    issuer: text({ description: 'The claim iss, exactly' }),
    audience: either('a text or a list of texts', [audience, list(audience, 1, 100, { description: 'Several' })], {
      description: 'A token must name one of these in its claim aud',
    }).transform((audience) => [...new Set([audience].flat())]),
    jwks: read('https://HOST/PATH, or file:PATH', parseKeys, {
      description: 'The issuer’s keys: an https URL (http on a loopback host only), or file:PATH relative to this file',
    }).optional(),
    secret: text(
      { description: 'Shared secret instead of jwks: at least 32 bytes for HS256, 48 for HS384, 64 for HS512' },
      { what: 'a secret' },
    ).optional(),
    algorithms: list(choice([...PUBLIC_KEY, ...SHARED], { description: 'An algorithm' }), 1, 14, {
      description:
        'Signature algorithms to accept; HS256, HS384 and HS512 only with a secret, all others only with jwks',
    }),
    user_claim: text(
      {
        description:
          'The claim that holds the user id: a text, or a whole number, which stands for its digits. Default sub',
      },
      { max: 128 },
    ).default('sub'),
    clock_tolerance: duration('0s', '5m', { description: 'For exp, nbf and iat, 0s to 5m. Default 30s' }).prefault(
      '30s',
    ),
    typ: list(text({ description: 'A type' }, { max: 128 }), 1, 20, {
      description: 'Accepted values of the header typ, for example at+jwt. Default any or none',
    }).optional(),
  },
  'An issuer of JWTs',
).transform(({ issuer, audience, jwks, secret = '', algorithms, user_claim, clock_tolerance, typ = null }) => ({
  issuer,
  audiences: audience,
  keys: jwks ?? { kind: 'secret' as const, secret },
  algorithms,
  userClaim: user_claim,
  clockToleranceMs: clock_tolerance,
  types: typ,
}))

export const auth = domain(
  section(
    {
      jwt: list(issuer, 0, 100, { description: 'Issuers of JWTs. Default none' }).default([]),
      gateway_tokens: flag({ description: 'Whether gateway tokens (gw_…) are accepted. Default true' }).default(true),
      credential_cache: domain(
        section(
          {
            max: integer(0, 10_000_000, {
              description: 'Credentials remembered, 0 to 10000000. Default 10000',
            }).default(10_000),
            ttl: duration('0s', '1h', {
              description:
                'For how long at most, 0s to 1h: a JWT for three quarters of it to all of it, a gateway token for 1.5 s at most. Default 60s',
            }).prefault('60s'),
          },
          'Credentials that were verified are not verified again at once',
        ),
        { ttl: 'ttlMs' },
      ).prefault({}),
    },
    'Who may come in',
  ),
  {},
)
