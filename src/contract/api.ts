import type { z } from 'zod'
import type { Immutable } from '../lib/immutable.ts'
import type * as schemas from './admin.ts'
import type { askedPrice } from './price.ts'

/** The types of the admin API, from its schemas. There are only types here, so that the page can import this file. */

type Of<T extends z.ZodType> = Immutable<z.output<T>>

export type Mode = Of<typeof schemas.mode>
export type Scope = Of<typeof schemas.scope>
export type Role = Of<typeof schemas.role>
export type Table = Of<typeof schemas.table>
export type ScopedTable = Of<typeof schemas.scopedTable>
export type LimitTables = Of<typeof schemas.limitTables>

/** A price that depends on the request. A value may have a price of its own. */
export type AskedPrice = Of<typeof askedPrice>

/** The JSON body of an error. */
export type ErrorResponse = Of<typeof schemas.errorResponse>
/** GET /api/session and POST /api/session */
export type SessionResponse = Of<typeof schemas.session>
/** POST /api/session/provider */
export type SignInBegunResponse = Of<typeof schemas.signInBegun>
/** One window of an owner. */
export type WindowResponse = Of<typeof schemas.window>
/** Whether an owner is refused now. */
export type StandingResponse = Of<typeof schemas.standing>
/** How a limit came about. */
export type LayersResponse = Of<typeof schemas.layers>
/** A limit in force, with its usage and its layers. */
export type LimitResponse = Of<typeof schemas.limit>
/** A limit in force with its layers, without usage, which only the store knows. */
export type LimitInForceResponse = Of<typeof schemas.limitInForce>
/** A limit, and rules whose requests may cost more than it ever allows. */
export type WarningResponse = Of<typeof schemas.warning>

/** The settings of the file, or the settings in force. */
export type SettingsResponse = Of<typeof schemas.settings>
/** The settings, and the limits that result. */
export type SettingsInForceResponse = Of<typeof schemas.settingsInForce>
/** GET /api/quota. Its ETag is `"version"`, for If-Match. */
export type QuotaResponse = Of<typeof schemas.quota>
/** GET /api/in-force: the settings that this gateway enforces, without asking the store. Its ETag is that of GET /api/quota. */
export type InForceResponse = Of<typeof schemas.inForce>
/** PATCH /api/quota and PATCH /api/plans/{id} */
export type QuotaChangedResponse = Of<typeof schemas.quotaChanged>
/** What was set over time. */
export type LayerResponse = Of<typeof schemas.layer>
/** What a change did to the ends of layers. */
export type EndsResponse = Of<typeof schemas.ends>
export type TakenAwayResponse = Of<typeof schemas.takenAway>
export type EndResponse = Of<typeof schemas.end>
/** PATCH /api/quota and POST /api/quota/preview */
export type QuotaPatch = Of<typeof schemas.quotaPatch>
/** POST /api/quota/preview and POST /api/plans/{id}/preview */
export type PreviewResponse = Of<typeof schemas.preview>
/** A value of a change that affects nobody. */
export type UnfollowedResponse = Of<typeof schemas.unfollowed>[number]
/** GET /api/plans. Its ETag is that of GET /api/quota. */
export type PlansResponse = Of<typeof schemas.plans>
/** The written limits of a plan. */
export type PlanTablesResponse = Of<typeof schemas.planTables>
/** POST /api/quota/reset */
export type QuotaResetResponse = Of<typeof schemas.quotaReset>

/** PUT /api/users/{id}/override, with the categories beside the other fields. */
export type OverrideBody = Readonly<Record<string, unknown>> & Of<typeof schemas.overrideFields>
export type OverrideResponse = Of<typeof schemas.override>
/** PUT /api/users/{id}/override */
export type OverrideSetResponse = Of<typeof schemas.overrideSet>
/** PUT /api/organisations/{id}/override, with the categories beside the other fields. */
export type OrganisationOverrideBody = Readonly<Record<string, unknown>> & Of<typeof schemas.organisationOverrideFields>
export type OrganisationOverrideResponse = Of<typeof schemas.organisationOverride>
/** PUT /api/organisations/{id}/override */
export type OrganisationOverrideSetResponse = Of<typeof schemas.organisationOverrideSet>
/** GET /api/quota/distribution */
export type DistributionResponse = Of<typeof schemas.distribution>
/** GET /api/users */
export type UsersResponse = Of<typeof schemas.users>
/** GET /api/users/{id} */
export type UserResponse = Of<typeof schemas.user>
/** GET /api/users/{id}/export */
export type PersonExportResponse = Of<typeof schemas.personExport>
/** DELETE /api/users/{id}?forget=1 */
export type PersonForgottenResponse = Of<typeof schemas.personForgotten>
/** GET /api/organisations */
export type OrganisationsResponse = Of<typeof schemas.organisations>
/** GET /api/organisations/{id} */
export type OrganisationResponse = Of<typeof schemas.organisation>
/** PUT /api/overrides */
export type OverridesSetResponse = Of<typeof schemas.overridesSet>
/** GET /api/in-force/users?query=&limit= */
export type OverridesInForceResponse = Of<typeof schemas.overridesInForce>
/** GET /api/in-force/organisations?query=&limit= */
export type OrganisationOverridesInForceResponse = Of<typeof schemas.organisationOverridesInForce>
/** GET /api/in-force/users/{id} */
export type UserInForceResponse = Of<typeof schemas.userInForce>

/** GET /api/explain */
export type ExplainResponse = Of<typeof schemas.explain>
export type ReasonCode = Of<typeof schemas.reasonCode>
export type ReasonValues = Of<typeof schemas.reasonValues>

/** GET /api/now */
export type NowResponse = Of<typeof schemas.now>
export type CountsResponse = Of<typeof schemas.counts>
/** GET /api/status */
export type StatusResponse = Of<typeof schemas.status>
/** GET /api/failures */
export type FailuresResponse = Of<typeof schemas.failures>
/** GET /api/refusals */
export type RefusalsResponse = Of<typeof schemas.refusals>
/** GET /api/refusals/groups */
export type RefusalGroupsResponse = Of<typeof schemas.refusalGroups>

/** GET /api/alerts?alert=&limit= */
export type AlertsResponse = Of<typeof schemas.alerts>
/** POST /api/alerts/{name}/test */
export type AlertTestResponse = Of<typeof schemas.alertTest>
/** GET /api/usage?from=&to=&by=&user=&organisation=&category=&route=&window=&step=&order=&format=&limit=&cursor= */
export type UsageResponse = Of<typeof schemas.usage>

/** GET /api/grants */
export type GrantsResponse = Of<typeof schemas.grants>
/** POST /api/grants */
export type GrantGivenResponse = Of<typeof schemas.grantGiven>
/** DELETE /api/grants/{id} */
export type GrantResponse = Of<typeof schemas.grant>
export type GrantStatusResponse = Of<typeof schemas.grantStatus>
/** GET /api/tokens */
export type TokensResponse = Of<typeof schemas.tokens>
export type TokenResponse = Of<typeof schemas.token>
/** DELETE /api/tokens?user= */
export type RevokedTokensResponse = Of<typeof schemas.revokedTokens>

/** PUT /api/tokens/import */
export type ImportedTokensResponse = Of<typeof schemas.importedTokens>

/** POST /api/tokens and POST /api/tokens/{id}/rotate, without `handover` in the body. */
export type NewTokenResponse = Of<typeof schemas.madeToken>
export type TokenToHandOverResponse = Of<typeof schemas.tokenToHandOver>
export type HandedOverResponse = Of<typeof schemas.handedOver>
/** GET /api/routes */
export type RoutesResponse = Of<typeof schemas.routes>
/** GET /api/audit */
export type AuditResponse = Of<typeof schemas.audit>
/** POST /api/audit/{id}/undo */
export type UndoneResponse = Of<typeof schemas.undone>
