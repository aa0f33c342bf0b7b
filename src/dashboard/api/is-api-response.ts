import type * as api from '../../contract/api.ts'

/**
 * Whether a response comes from the API itself. Somebody in between may respond instead: a proxy with its own sign-in, a maintenance
 * page, or another service at the address.
 */

/** The members of a response, by its path. The first pattern that matches counts. */
const MEMBERS: readonly (readonly [RegExp, readonly string[]])[] = [
  [/^session$/, members<api.SessionResponse>('name', 'role')],
  [/^session\/provider$/, members<api.SignInBegunResponse>('to')],
  [/^quota\/preview$/, members<api.PreviewResponse>('scanned', 'blocked', 'windows', 'effective')],
  [/^quota\/distribution$/, members<api.DistributionResponse>('shares', 'percentiles', 'counted')],
  [/^plans$/, members<api.PlansResponse>('plans', 'defaultPlan')],
  [/^quota$/, members<api.QuotaResponse>('mode', 'global', 'baselines', 'effective', 'changed')],
  [/^in-force$/, members<api.InForceResponse>('mode', 'global', 'effective', 'storeOutage')],
  [/^in-force\/users$/, members<api.OverridesInForceResponse>('users', 'total')],
  [/^in-force\/users\/[^/]+$/, members<api.UserInForceResponse>('user', 'limits', 'override')],
  [/^users$/, members<api.UsersResponse>('users', 'next')],
  [/^users\/[^/]+\/override$/, members<api.OverrideResponse>('limits', 'reason')],
  [/^users\/[^/]+\?forget=1$/, members<api.PersonForgottenResponse>('alias', 'version')],
  [/^users\/[^/]+$/, members<api.UserResponse>('user', 'windows', 'override')],
  [/^in-force\/organisations$/, members<api.OrganisationOverridesInForceResponse>('organisations', 'total')],
  [/^organisations$/, members<api.OrganisationsResponse>('organisations', 'next')],
  [/^organisations\/[^/]+\/override$/, members<api.OrganisationOverrideResponse>('limits', 'reason')],
  [/^organisations\/[^/]+$/, members<api.OrganisationResponse>('organisation', 'windows', 'override')],
  [/^grants$/, members<api.GrantsResponse>('grants', 'total')],
  [/^grants\/[^/]+$/, members<api.GrantResponse>('id', 'taken')],
  [/^explain$/, members<api.ExplainResponse>('decision', 'limits', 'reasons')],
  [/^now$/, members<api.NowResponse>('at', 'store', 'backend', 'config')],
  [/^status$/, members<api.StatusResponse>('store', 'full', 'users', 'upstream')],
  [/^failures$/, members<api.FailuresResponse>('since', 'until', 'buckets')],
  [/^refusals$/, members<api.RefusalsResponse>('refusals', 'next')],
  [/^refusals\/groups$/, members<api.RefusalGroupsResponse>('from', 'groups', 'steps')],
  [/^alerts\/[^/]+\/test$/, members<api.AlertTestResponse>('delivered', 'error')],
  [/^alerts$/, members<api.AlertsResponse>('alerts', 'former', 'events')],
  [/^usage$/, members<api.UsageResponse>('from', 'to', 'by', 'step', 'rows', 'next')],
  [/^handover$/, members<api.HandedOverResponse>('user', 'token')],
  [/^tokens$/, members<api.TokensResponse>('tokens')],
  [/^routes$/, members<api.RoutesResponse>('file', 'routes', 'unmatched')],
  [/^audit\/[^/]+\/undo$/, members<api.UndoneResponse>('entry')],
  [/^audit$/, members<api.AuditResponse>('entries', 'next')],
]

/** Paths whose DELETE does not respond with what GET has. */
const TAKEN_AWAY = /^(?:(?:users|organisations)\/[^/]+\/override|quota\/scheduled\/[^/]+)$/
const ENDS = members<api.TakenAwayResponse>('ends')

/** Paths that list things: the member with the thing that they create. */
const MADE = {
  tokens: members<api.NewTokenResponse>('id', 'user', 'state'),
  grants: members<api.GrantResponse>('id', 'taken'),
}

function members<T>(...names: readonly (keyof T & string)[]): readonly string[] {
  return names
}

/** @param said the parsed body; `null` for none */
export function isOwn(path: string, status: number, said: unknown): boolean {
  if (status >= 400)
    return has(said, ['error', 'msg']) && typeof said.error === 'string' && typeof said.msg === 'string'
  if (said === null) return status === 204
  const [, name = ''] = /^\/api\/([^?]*(?:\?forget=1$)?)/.exec(path) ?? []
  const made = name.startsWith('grants') ? MADE.grants : MADE.tokens
  const [, names] = status === 201 ? [name, made] : (MEMBERS.find(([pattern]) => pattern.test(name)) ?? [])
  if (names !== undefined && has(said, names)) return true
  return TAKEN_AWAY.test(name) && has(said, ENDS)
}

function has(said: unknown, names: readonly string[]): said is Record<string, unknown> {
  return typeof said === 'object' && said !== null && names.every((name) => Object.hasOwn(said, name))
}
