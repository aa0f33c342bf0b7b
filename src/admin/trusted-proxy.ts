import type { AdminResponse, Headers, Identity } from './http.ts'
import { personOf, type Roles } from './people.ts'
import type { AdminToken } from './session-cookie.ts'

/** A proxy in front that signs people in, as oauth2-proxy does. */
export interface TrustedProxy {
  /** Names of fields, in lower case. */
  readonly name: string
  readonly groups: string
  readonly roles: Roles
  /** Whether an address is that of the proxy. */
  readonly isFrom: (address: string) => boolean
}

/** Whom the proxy vouches for; `null` for a request that does not come from it, or that it says nothing of. */
export function vouchedFor(
  proxy: TrustedProxy | null,
  { headers, address }: { readonly headers: Headers; readonly address: string },
  tokens: readonly AdminToken[],
): Identity | AdminResponse | null {
  if (proxy === null || headers[proxy.name] === undefined || !proxy.isFrom(address)) return null
  const source = {
    ofName: `The field ${proxy.name}`,
    ofGroups: `the field ${proxy.groups}`,
    key: 'admin.trusted.roles',
  }
  // Two fields of one name would be two names, also where one is empty: the proxy has let one through that is a client's.
  const [name = '', another] = textsOf(headers[proxy.name])
  const groups = textsOf(headers[proxy.groups]).filter((text) => text !== '')
  const found = personOf({ name: another === undefined ? name : null, groups }, { roles: proxy.roles, tokens, source })
  return 'status' in found ? found : { name: found.name, role: found.role, expiresAt: null, isAmbient: true }
}

/** Node reads fields as Latin-1, and joins those of one name by commas. */
function textsOf(field: string | readonly string[] | undefined): string[] {
  const texts = Buffer.from(String(field ?? ''), 'latin1').toString()
  return texts.split(',').map((text) => text.trim())
}
