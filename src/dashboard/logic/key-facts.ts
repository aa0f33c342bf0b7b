import type { TokenResponse, UsersResponse } from '../../contract/api.ts'

/** The organisation and the plan that a new access key of a user should have, as far as they are known. Pure. */

export interface Facts {
  readonly organisation?: string | undefined
  readonly plan?: string | undefined
}

type Line = UsersResponse['users'][number]

/**
 * The facts in the user's latest key that is not revoked, or else in the user's last credential.
 * @param keys newest first
 * @param lines users that the API knows
 * @param plans of the configuration. Another plan counts as none
 */
export function factsOf(
  user: string,
  {
    keys,
    lines,
    plans,
  }: { readonly keys: readonly TokenResponse[]; readonly lines: readonly Line[]; readonly plans: readonly string[] },
): Facts {
  if (user === '') return {}
  const key = keys.find((each) => each.user === user && each.revokedAt === null)
  const line = lines.find((each) => each.user === user)
  const ofCredential = line?.plan?.from === 'credential' ? (line.plan.name ?? undefined) : undefined
  const { organisation, plan } = key ?? { organisation: line?.organisation, plan: ofCredential }
  return { organisation, plan: plan !== undefined && plans.includes(plan) ? plan : undefined }
}
