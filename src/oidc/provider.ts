import {
  allowInsecureRequests,
  authorizationCodeGrant,
  buildAuthorizationUrl,
  type ClientAuth,
  ClientSecretBasic,
  ClientSecretPost,
  type Configuration,
  calculatePKCECodeChallenge,
  discovery,
  enableNonRepudiationChecks,
  fetchUserInfo,
  randomNonce,
  randomPKCECodeVerifier,
  randomState,
} from 'openid-client'
import { type SignedIn, SignInError, type SignInProvider } from '../control/sign-in-provider.ts'
import { messageOf } from '../errors.ts'
import { jsonAt } from '../lib/json-path.ts'

/** Sign-in by OpenID Connect: an authorization code with PKCE, state and nonce, by a certified library. */

export interface OidcOptions {
  readonly issuer: string
  readonly clientId: string
  readonly clientSecret: string
  readonly scope: string
  /** Paths of claims, like `realm_access.roles`. */
  readonly nameClaim: string
  readonly groupsClaim: string
}

/** How long the provider may take for one response, in seconds. */
const DEADLINE_S = 10
/** How long the provider's metadata are used before they are fetched again, in milliseconds. */
const METADATA_MS = 10 * 60_000
/** The most sign-ins that are being finished at once. Each asks the provider two or three times, and anybody can send one. */
const MOST_AT_ONCE = 16

export function openidProvider(options: OidcOptions): SignInProvider {
  let known: { readonly until: number; readonly found: Promise<Configuration> } | null = null
  let atOnce = 0

  /** Sign-ins that come while the metadata are fetched wait for the same response. A failure is forgotten at once. */
  async function discovered(): Promise<Configuration> {
    if (known === null || known.until < performance.now()) {
      known = { until: performance.now() + METADATA_MS, found: discover(options) }
    }
    const asked = known
    try {
      return await asked.found
    } catch (error) {
      if (known === asked) known = null
      throw away(options, error)
    }
  }

  async function begin(callback: string) {
    const configuration = await discovered()
    const [state, nonce, verifier] = [randomState(), randomNonce(), randomPKCECodeVerifier()]
    const to = buildAuthorizationUrl(configuration, {
      redirect_uri: callback,
      scope: options.scope,
      state,
      nonce,
      code_challenge: await calculatePKCECodeChallenge(verifier),
      code_challenge_method: 'S256',
    })
    return { to: to.href, kept: [state, nonce, verifier].join('.') }
  }

  async function finish(returned: URL, kept: string): Promise<SignedIn> {
    if (atOnce >= MOST_AT_ONCE) throw new SignInError('away', 'Too many people sign in at this moment: try again.')
    atOnce++
    try {
      const configuration = await discovered()
      return await personOf(configuration, returned, kept).catch((error: unknown) => {
        throw isAway(error) ? away(options, error) : refused(options, error)
      })
    } finally {
      atOnce--
    }
  }

  async function personOf(configuration: Configuration, returned: URL, kept: string): Promise<SignedIn> {
    const [expectedState = '', expectedNonce = '', pkceCodeVerifier = ''] = kept.split('.')
    const checks = { expectedState, expectedNonce, pkceCodeVerifier, idTokenExpected: true }
    const tokens = await authorizationCodeGrant(configuration, returned, checks)
    const claims = tokens.claims()
    if (claims === undefined) throw new Error('no ID token')
    const inToken = readPerson(claims, options)
    // Many providers put the name, the groups or `email_verified` only into the userinfo response.
    const isVerifiedKnown = options.nameClaim !== 'email' || 'email_verified' in claims
    if (inToken.name !== null && inToken.groups.length > 0 && isVerifiedKnown) return inToken
    if (configuration.serverMetadata().userinfo_endpoint === undefined) return inToken
    const more = await fetchUserInfo(configuration, tokens.access_token, claims.sub)
    return readPerson({ ...more, ...claims }, options)
  }

  return { begin, finish }
}

function discover({ issuer, clientId, clientSecret }: OidcOptions): Promise<Configuration> {
  const url = new URL(issuer)
  // The signature of an ID token is checked although it comes from the provider itself.
  const execute = [enableNonRepudiationChecks, ...(url.protocol === 'http:' ? [allowInsecureRequests] : [])]
  return discovery(url, clientId, undefined, secretOf(clientSecret), { timeout: DEADLINE_S, execute })
}

/** Sends the secret in the form that the provider accepts: in the field of RFC 7617, or in the body if the provider does not name that field. */
function secretOf(secret: string): ClientAuth {
  const [basic, post] = [ClientSecretBasic(secret), ClientSecretPost(secret)]
  return (server, ...rest) => {
    const methods = server.token_endpoint_auth_methods_supported ?? ['client_secret_basic']
    return (methods.includes('client_secret_basic') ? basic : post)(server, ...rest)
  }
}

function readPerson(claims: object, { nameClaim, groupsClaim }: OidcOptions): SignedIn {
  const text = JSON.stringify(claims)
  const valueAt = (path: string): unknown => JSON.parse(jsonAt(text, path) ?? 'null')
  // Some providers, for example Cognito, write the boolean as a text.
  const isUnverified = nameClaim === 'email' && String(valueAt('email_verified')) === 'false'
  const [name, groups] = [valueAt(nameClaim), valueAt(groupsClaim)]
  const list: readonly unknown[] = Array.isArray(groups) ? groups : [groups]
  return {
    name: typeof name === 'string' && !isUnverified ? name : null,
    groups: list.filter((group) => typeof group === 'string'),
  }
}

/** Whether the provider gave no usable response: no connection (the library then throws a TypeError), none in time, or a malformed one. */
function isAway(error: unknown): boolean {
  if (error instanceof TypeError) return true
  const { code } = error as { readonly code?: unknown }
  return typeof code === 'string' && AWAY.has(code)
}

const AWAY: ReadonlySet<string> = new Set([
  'OAUTH_TIMEOUT',
  'OAUTH_ABORT',
  'OAUTH_RESPONSE_IS_NOT_CONFORM',
  'OAUTH_RESPONSE_IS_NOT_JSON',
  'OAUTH_PARSE_ERROR',
])

function away({ issuer }: OidcOptions, error: unknown): SignInError {
  const { host } = new URL(issuer)
  return new SignInError('away', `The provider ${host} does not sign anybody in now (${reasonOf(error)}).`, error)
}

function refused({ issuer }: OidcOptions, error: unknown): SignInError {
  const { host } = new URL(issuer)
  return new SignInError('refused', `${host} did not sign you in here (${reasonOf(error)}).`, error)
}

/** The code of an error of OAuth. For any other error, the first words of the library, which contain no secret. */
function reasonOf(error: unknown): string {
  const { error: code, cause } = error as { readonly error?: unknown; readonly cause?: unknown }
  if (typeof code === 'string') return /^[\w.-]{1,64}$/.test(code) ? code : 'error'
  return messageOf(cause instanceof Error ? cause : error)
}
