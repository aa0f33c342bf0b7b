import { TENANT } from '../lib/tenant-placeholder.ts'
import { type JsonObject, member } from './jwt-encoding.ts'

/** Issuers with a name for each of their tenants, such as `https://login.microsoftonline.com/{tenantid}/v2.0`. */

/** The tenants whose tokens are accepted. */
export type Tenants = 'any' | readonly string[]

interface Named {
  readonly issuer: string
  /** `issuer` then contains `TENANT` exactly once. Default: `issuer` is the name itself. */
  readonly tenants?: Tenants
}

/** A GUID or a domain name. It contains nothing that ends this part of a URL. */
const TENANT_NAME = /^[\w.-]{1,128}$/

/** Whether tokens with this `iss` may come from the issuer. */
export function mayIssue({ issuer, tenants }: Named, iss: string | null): boolean {
  return tenants === undefined || iss === null ? issuer === iss : isAccepted(tenantIn(issuer, iss), tenants)
}

/** Whether claims come from the issuer: `iss` must be the template with exactly the tenant of `tid`. */
export function isIssuedBy({ issuer, tenants }: Named, claims: JsonObject): boolean {
  const iss = member(claims, 'iss')
  if (tenants === undefined || typeof iss !== 'string') return iss === issuer
  const tenant = tenantIn(issuer, iss)
  return isAccepted(tenant, tenants) && member(claims, 'tid') === tenant
}

/**
 * Whether a key may sign for the tenant of a token. Microsoft publishes keys for single tenants in the set that all tenants share.
 * @param ofKey the issuer that the key names
 * @param iss of a token that the issuer may have made
 */
export function maySignFor(ofKey: string | undefined, { issuer, tenants }: Named, iss: string | null): boolean {
  if (tenants === undefined || ofKey === undefined || ofKey.includes(TENANT)) return true
  return iss !== null && ofKey.split('/').includes(tenantIn(issuer, iss) ?? '')
}

/** The part of `iss` in the place of `TENANT`; `null` if `iss` has another form. */
function tenantIn(template: string, iss: string): string | null {
  const [before = '', after = ''] = template.split(TENANT)
  const isOfForm = iss.length > before.length + after.length && iss.startsWith(before) && iss.endsWith(after)
  return isOfForm ? iss.slice(before.length, iss.length - after.length) : null
}

function isAccepted(tenant: string | null, tenants: Tenants): boolean {
  return tenant !== null && TENANT_NAME.test(tenant) && (tenants === 'any' || tenants.includes(tenant))
}
