import type { TextKey } from './en.ts'
import { audit } from './zh/audit.ts'
import { common } from './zh/common.ts'
import { errors } from './zh/errors.ts'
import { grants } from './zh/grants.ts'
import { jump } from './zh/jump.ts'
import { keys } from './zh/keys.ts'
import { limits } from './zh/limits.ts'
import { organisations } from './zh/organisations.ts'
import { overview } from './zh/overview.ts'
import { refusals } from './zh/refusals.ts'
import { replicas } from './zh/replicas.ts'
import { routes } from './zh/routes.ts'
import { series } from './zh/series.ts'
import { status } from './zh/status.ts'
import { users } from './zh/users.ts'

export { reasons as zhReasons } from './zh/reasons.ts'

export const zh: Readonly<Record<TextKey, string>> = {
  ...common,
  ...overview,
  ...limits,
  ...errors,
  ...status,
  ...series,
  ...users,
  ...organisations,
  ...grants,
  ...refusals,
  ...jump,
  ...keys,
  ...replicas,
  ...routes,
  ...audit,
}
