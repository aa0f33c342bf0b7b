import type { AdminResponse, Headers, Identity } from './http.ts'
import { personOf, type Roles } from './people.ts'
import type { AdminToken } from './session-cookie.ts'

/** A proxy in front that signs people in, for example oauth2-proxy. */
export interface TrustedProxy {
  /** The header field with the person's name, in lower case. `groups` is the field with the groups. */
  readonly name: string
  readonly groups: string
  readonly roles: Roles
  /** Whether an address is the proxy's. */
  readonly isFrom: (address: string) => boolean
}

/** The person whom the proxy vouches for, or a refusal; `null` if the request does not come from the proxy, or lacks the field with the name. */
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
  // If there are two names, even an empty one, the proxy has forwarded a field of the client beside its own, so neither counts.
  const [name = '', another] = textsOf(headers[proxy.name])
  const groups = textsOf(headers[proxy.groups]).filter((text) => text !== '')
  const found = personOf({ name: another === undefined ? name : null, groups }, { roles: proxy.roles, tokens, source })
  return 'status' in found ? found : { name: found.name, role: found.role, expiresAt: null, isAmbient: true }
}

/** Node reads fields as Latin-1, and joins several of one name with commas. */
function textsOf(field: string | readonly string[] | undefined): string[] {
  const texts = Buffer.from(String(field ?? ''), 'latin1').toString()
  return texts.split(',').map((text) => text.trim())
}
