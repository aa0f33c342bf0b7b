import type * as api from '../../admin/api.ts'

/**
 * Whether the API itself gave an answer, or somebody in between: a proxy that wants a sign-in of its own, a maintenance page, another
 * service at the address.
 */

/** What an answer has, by its path; the first that fits counts. */
const MEMBERS: readonly (readonly [RegExp, readonly string[]])[] = [
  [/^session$/, members<api.SessionAnswer>('name', 'role')],
  [/^quota\/preview$/, members<api.PreviewAnswer>('scanned', 'blocked', 'windows', 'effective')],
  [/^quota$/, members<api.QuotaAnswer>('mode', 'global', 'baselines', 'effective', 'changed')],
  [/^in-force$/, members<api.InForceAnswer>('mode', 'global', 'effective', 'storeOutage')],
  [/^in-force\/users$/, members<api.OverridesInForceAnswer>('users', 'total')],
  [/^in-force\/users\/[^/]+$/, members<api.UserInForceAnswer>('user', 'limits', 'override')],
  [/^users$/, members<api.UsersAnswer>('users', 'next')],
  [/^users\/[^/]+\/override$/, members<api.OverrideAnswer>('limits', 'reason')],
  [/^users\/[^/]+$/, members<api.UserAnswer>('user', 'windows', 'override')],
  [/^explain$/, members<api.ExplainAnswer>('decision', 'limits', 'reasons')],
  [/^now$/, members<api.NowAnswer>('at', 'store', 'backend', 'config')],
  [/^failures$/, members<api.FailuresAnswer>('since', 'until', 'buckets')],
  [/^tokens$/, members<api.TokensAnswer>('tokens')],
  [/^routes$/, members<api.RoutesAnswer>('file', 'routes', 'unmatched')],
  [/^audit$/, members<api.AuditAnswer>('entries', 'next')],
]

/** Of the one path whose list is not what it makes. */
const MADE = members<api.NewTokenAnswer>('id', 'token')

function members<T>(...names: readonly (keyof T & string)[]): readonly string[] {
  return names
}

/** @param said the body, parsed; `null` for none */
export function isOwn(path: string, status: number, said: unknown): boolean {
  if (status >= 400)
    return has(said, ['error', 'msg']) && typeof said.error === 'string' && typeof said.msg === 'string'
  if (said === null) return status === 204
  const [, name = ''] = /^\/api\/([^?]*)/.exec(path) ?? []
  const [, names] = status === 201 ? [name, MADE] : (MEMBERS.find(([pattern]) => pattern.test(name)) ?? [])
  return names !== undefined && has(said, names)
}

function has(said: unknown, names: readonly string[]): said is Record<string, unknown> {
  return typeof said === 'object' && said !== null && names.every((name) => Object.hasOwn(said, name))
}
