import { COMMAND_LINE, GUARD, HANDOVER, SCHEDULE } from '../control/control-store.ts'
import { ledBy, type Role } from '../control/role.ts'
import type { SignedIn, SignInProvider } from '../control/sign-in-provider.ts'
import { isUserId } from '../control/user-id.ts'
import { type AdminResponse, refusal } from './http.ts'

/** The role that each group gives. */
export type Roles = ReadonlyMap<string, Role>

/** The people whom a provider signs in. */
export interface People {
  readonly provider: SignInProvider
  /** The name of the provider on the page. */
  readonly host: string
  /** The name of the claim that has the groups, for messages. */
  readonly claim: string
  readonly roles: Roles
  /** The secret from which the key of their sessions is derived, so that all replicas have the same key. */
  readonly secret: string
  /** How long a session lasts, in milliseconds. */
  readonly sessionMs: number
}

/** A person with a role. */
export interface Person {
  /** The name in the audit. */
  readonly name: string
  readonly role: Role
  /** The group that gives the role. */
  readonly group: string
}

/** Where a person's name and groups come from, and what gives roles, as parts of a message. */
interface Source {
  /** The source of the name at the beginning of a sentence, like `The field x-forwarded-user`. */
  readonly ofName: string
  readonly ofGroups: string
  /** The configuration key that gives roles. */
  readonly key: string
}

export function sourceOf({ claim, host }: People): Source {
  return { ofName: host, ofGroups: `the claim "${claim}"`, key: 'admin.oidc.roles' }
}

/** The person whom a provider or a proxy vouches for, or why there is no role. */
export function personOf(
  { name, groups }: SignedIn,
  {
    roles,
    tokens,
    source,
  }: { readonly roles: Roles; readonly tokens: readonly { readonly name: string }[]; readonly source: Source },
): Person | AdminResponse {
  if (name === null || !isUserId(name))
    return refusal('no_role', `${source.ofName} gives you no name that can be used.`)
  // The audit must distinguish people from tokens, and from reserved words.
  if ([...RESERVED, ...tokens.map((token) => token.name)].some((taken) => looks(taken) === looks(name))) {
    return refusal('no_role', `Your name "${name}" is that of an admin token, or a word of the audit.`)
  }
  const found = RANKS.flatMap((isOf) => groupsOf(isOf, roles, groups))[0]
  if (found !== undefined) return { name, ...found }
  const has = groups.length === 0 ? 'has nothing' : `has ${listed(groups)}`
  const msg = `You are ${name}, and have no role here: ${source.ofGroups} ${has}, and ${source.key} names none of that.`
  return refusal('no_role', msg)
}

const RESERVED = [COMMAND_LINE, SCHEDULE, GUARD, HANDOVER]

/** Makes names equal that look equal: it ignores letter case, width, spaces and invisible characters. */
function looks(name: string): string {
  return name
    .normalize('NFKC')
    .replace(/[\p{Z}\p{Cf}\p{Mn}]/gu, '')
    .toLowerCase()
}

/** If several groups give roles, admin goes before viewer, and viewer before lead. Of several organisations the first in the configuration counts. */
const RANKS: readonly ((role: Role) => boolean)[] = [
  (role) => role === 'admin',
  (role) => role === 'viewer',
  (role) => ledBy(role) !== null,
]

function groupsOf(
  isOf: (role: Role) => boolean,
  roles: Roles,
  groups: readonly string[],
): { readonly group: string; readonly role: Role }[] {
  return [...roles].flatMap(([group, role]) => (isOf(role) && groups.includes(group) ? [{ group, role }] : []))
}

/** How many groups a sentence lists, because a person may have a thousand. */
const MOST_LISTED = 20

function listed(groups: readonly string[]): string {
  const some = groups.slice(0, MOST_LISTED).map((group) => JSON.stringify(group.slice(0, 64)))
  const others = groups.length - some.length
  return some.join(', ') + (others === 0 ? '' : ` and ${others} more`)
}
