import { audit } from './en/audit.ts'
import { common } from './en/common.ts'
import { errors } from './en/errors.ts'
import { grants } from './en/grants.ts'
import { jump } from './en/jump.ts'
import { keys } from './en/keys.ts'
import { limits } from './en/limits.ts'
import { organisations } from './en/organisations.ts'
import { overview } from './en/overview.ts'
import { refusals } from './en/refusals.ts'
import { replicas } from './en/replicas.ts'
import { routes } from './en/routes.ts'
import { series } from './en/series.ts'
import { status } from './en/status.ts'
import { users } from './en/users.ts'

export { reasons as enReasons } from './en/reasons.ts'

/** All words of the page, by area. A key stands in one of them. The other languages have the same keys. */
export const en = {
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

export type TextKey = keyof typeof en
