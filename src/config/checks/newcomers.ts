import { createPolicy } from '../../quota/policy.ts'
import type { Limit } from '../../quota/window.ts'
import type { PartialConfig } from '../partial.ts'
import { type Finding, quote } from '../problems.ts'
import { toWindows, windowsOf } from '../window-lengths.ts'

/** Warns of what somebody with many accounts, or with a user id of his choice, can do to others. */

/** If fewer users than this exhaust a global limit, one person with a few accounts can do so. */
const FEW = 10

const WITH_RESERVE = 'raise it, lower the personal one, or keep a part of it for known users (quota.reserve)'

/** Warns of global limits that fewer than `FEW` users exhaust, once for each category. Only for quotas without problems. */
export function checkGlobalLimits({ quota }: PartialConfig): Finding[] {
  const { mode, baselines, custom, global, reserve } = quota
  if (mode === undefined || baselines === undefined || global === undefined) return []
  const settings = { mode, windows: toWindows(windowsOf(quota)), baselines, custom: custom ?? null, global }
  const policy = createPolicy(settings)
  const key = mode === 'custom' ? 'custom' : 'baselines'
  return policy.categories.flatMap((category): Finding[] => {
    const { personal, global } = policy.limitsOf(category)
    const least = scarcest(personal, global ?? [])
    if (least === null) return []
    const { name } = least.window
    const users = Math.ceil(least.global / least.personal)
    const message = `comes to ${least.global}, which ${few(users)} at the personal limit of ${least.personal}, and then all others get 429: ${reserve === undefined ? WITH_RESERVE : 'raise it, or lower the personal one'}`
    return [{ path: ['quota', key, 'global', category, name], severity: 'warning', message }]
  })
}

function few(users: number): string {
  return users === 1 ? 'one user uses up' : `${users} users use up`
}

/** The window that the fewest users exhaust; `null` if none is exhausted by so few. */
function scarcest(personal: readonly Limit[], global: readonly Limit[]) {
  const pairs = personal.flatMap(({ window, limit }) => {
    const shared = global.find((each) => each.window.name === window.name)
    return shared === undefined || limit === 0 ? [] : [{ window, personal: limit, global: shared.limit }]
  })
  const few = pairs.filter((each) => each.global < FEW * each.personal)
  return few.sort((a, b) => a.global / a.personal - b.global / b.personal)[0] ?? null
}

/** Claims that users choose. OpenID Connect Core 1.0 section 5.7 allows none of them as an identifier, and Microsoft not the last two. */
const CHOSEN: ReadonlySet<string> = new Set([
  'preferred_username',
  'nickname',
  'name',
  'given_name',
  'family_name',
  'email',
  'phone_number',
  'upn',
  'unique_name',
])

/** Warns of claims whose value users choose or can change, wherever they are in a token. */
export function checkUserClaims({ auth }: PartialConfig): Finding[] {
  return (['jwt', 'introspection'] as const).flatMap((key) =>
    auth[key].flatMap(({ user_claim }, i): Finding[] => {
      if (user_claim === undefined || !CHOSEN.has(user_claim.replace(/^.*\./, ''))) return []
      const message = `most identity providers let users change ${quote(user_claim)}: whoever does has a new quota, and whoever takes the one of another has his; name sub, or a claim that never changes`
      return [{ path: ['auth', key, i, 'user_claim'], severity: 'warning', message }]
    }),
  )
}
