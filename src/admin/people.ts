import { COMMAND_LINE, GUARD, HANDOVER, SCHEDULE } from '../control/control-store.ts'
import { ledBy, type Role } from '../control/role.ts'
import type { SignedIn, SignInProvider } from '../control/sign-in-provider.ts'
import { isUserId } from '../control/user-id.ts'
import { type AdminResponse, refusal } from './http.ts'

/** By the group that gives it. */
export type Roles = ReadonlyMap<string, Role>

/** The people whom a provider signs in. */
export interface People {
  readonly provider: SignInProvider
  /** What the page calls the provider by. */
  readonly host: string
  /** The claim that has the groups, for a sentence. */
  readonly claim: string
  readonly roles: Roles
  /** What the key of their sessions is drawn from. All replicas have the same one. */
  readonly secret: string
  /** How long a session is, in milliseconds. */
  readonly sessionMs: number
}

/** Somebody with a role. */
export interface Person {
  /** What the audit calls changes by. */
  readonly name: string
  readonly role: Role
  /** The group that gives the role. */
  readonly group: string
}

/** From where the name and the groups of somebody come, and what gives roles by them: in words, for a sentence. */
interface Source {
  /** What names the person, like `the claim "email"`. */
  readonly ofName: string
  readonly ofGroups: string
  /** The key of the configuration that gives roles. */
  readonly key: string
}

export function sourceOf({ claim, host }: People): Source {
  return { ofName: host, ofGroups: `the claim "${claim}"`, key: 'admin.oidc.roles' }
}

/** Whom a provider or a proxy vouches for, or why it is nobody here. */
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
  // The audit must distinguish people from tokens, and from what is nobody.
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

/** What a reader distinguishes a name by: neither letter case nor width, spaces, or what cannot be seen. */
function looks(name: string): string {
  return name
    .normalize('NFKC')
    .replace(/[\p{Z}\p{Cf}\p{Mn}]/gu, '')
    .toLowerCase()
}

/** Of the roles that somebody's groups give the first of these counts. Of several organisations it is the one that the configuration names first. */
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

/** Somebody may be in a thousand groups. */
const MOST_LISTED = 20

function listed(groups: readonly string[]): string {
  const some = groups.slice(0, MOST_LISTED).map((group) => JSON.stringify(group.slice(0, 64)))
  const others = groups.length - some.length
  return some.join(', ') + (others === 0 ? '' : ` and ${others} more`)
}
