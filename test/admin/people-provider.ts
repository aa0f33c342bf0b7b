import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'
import Provider from 'oidc-provider'
import { signingKey } from '../auth/oidc-setup.ts'
import { serve } from '../auth/support.ts'

/** A whole OpenID provider at which people sign in, without asking them: whoever comes is `who`. */
export interface PeopleProvider {
  readonly issuer: string
  /** Claims of whoever signs in from now on; `null` for somebody who gives up. */
  who: Readonly<Record<string, unknown>> | null
  /** Takes the place of what the provider responds to a path, until it is `null`. */
  instead: ((path: string, request: IncomingMessage, response: ServerResponse) => boolean) | null
  /** Lets gateways in that send people from these addresses, and others by the whole address of their callback. */
  serveFor(...admins: readonly string[]): void
  /** Goes where the gateway sends the browser, through all that the provider asks. @returns the query by which it sends the browser back */
  visit(to: string): Promise<string>
  close(): Promise<void>
}

export const CLIENT_SECRET = 'the-secret-of-the-gateway-at-its-provider'

/** @param notInToken claims that are not in the ID token, but only where the provider is asked for them */
export async function startPeopleProvider(notInToken: readonly string[] = []): Promise<PeopleProvider> {
  const server = await serve((_, response) => response.writeHead(503).end())
  const issuer = `http://localhost:${new URL(server.url).port}`
  const key = signingKey('people')

  function serveFor(...admins: readonly string[]): void {
    const callbacks = admins.map((admin) => (new URL(admin).pathname === '/' ? `${admin}/sign-in` : admin))
    const provider = providerOf(issuer, { callbacks, notInToken, key, claims: () => self.who ?? {} })
    const usual = provider.callback()
    server.answer = (request, response) => {
      const path = request.url ?? ''
      if (self.instead?.(path, request, response) === true) return
      if (!path.startsWith('/interaction/')) return usual(request, response)
      const login = { accountId: String(self.who?.sub ?? self.who?.email) }
      const result = self.who === null ? { error: 'access_denied' } : { login }
      void provider.interactionFinished(request, response, result)
    }
  }

  const self: PeopleProvider = {
    issuer,
    who: { sub: 'ann', email: 'ann@example.org', email_verified: true, groups: ['sre'] },
    instead: null,
    serveFor,
    visit: (to) => visit(issuer, to),
    close: () => server.close(),
  }
  return self
}

async function visit(issuer: string, to: string): Promise<string> {
  const cookies = new Map<string, string>()
  let next = to
  for (let hops = 0; hops < 8 && next.startsWith(issuer); hops++) {
    const cookie = [...cookies].map((pair) => pair.join('=')).join('; ')
    const response = await fetch(next, { redirect: 'manual', headers: { cookie } })
    for (const line of response.headers.getSetCookie()) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(line) ?? []
      cookies.set(name, value)
    }
    const place = response.headers.get('location')
    if (place === null) throw new Error(`the provider answered ${response.status}: ${await response.text()}`)
    next = new URL(place, next).href
  }
  return new URL(next).search.slice(1)
}

interface Options {
  readonly callbacks: readonly string[]
  readonly notInToken: readonly string[]
  readonly key: object
  readonly claims: () => Readonly<Record<string, unknown>>
}

const SCOPES = 'openid profile email groups'

function providerOf(issuer: string, { callbacks, notInToken, key, claims }: Options): Provider {
  return new Provider(issuer, {
    jwks: { keys: [key] },
    clientDefaults: { id_token_signed_response_alg: 'ES256' },
    clients: [
      {
        client_id: 'tollgate',
        client_secret: CLIENT_SECRET,
        redirect_uris: callbacks,
        response_types: ['code'],
        grant_types: ['authorization_code'],
      },
    ],
    claims: { openid: ['sub'], email: ['email', 'email_verified'], profile: ['name'], groups: ['groups'] },
    conformIdTokenClaims: false,
    cookies: { keys: ['a key of the test provider'] },
    pkce: { required: () => true },
    features: { devInteractions: { enabled: false } },
    interactions: { url: (_: unknown, { uid }: { readonly uid: string }) => `/interaction/${uid}` },
    findAccount: (_: unknown, accountId: string) => ({
      accountId,
      claims: (use: 'id_token' | 'userinfo') => {
        const given = Object.entries(claims()).filter(([name]) => use === 'userinfo' || !notInToken.includes(name))
        return { ...Object.fromEntries(given), sub: accountId }
      },
    }),
    loadExistingGrant: async ({ oidc }: GrantContext) => {
      const grant = new oidc.provider.Grant({ clientId: 'tollgate', accountId: oidc.session.accountId })
      grant.addOIDCScope(SCOPES)
      await grant.save()
      return grant
    },
  })
}

interface GrantContext {
  readonly oidc: { readonly provider: Provider; readonly session: { readonly accountId: string } }
}

/** What a provider responds that lies: a body in JSON. */
export function says(body: unknown, status = 200): RequestListener {
  return (_, response) => response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
}
