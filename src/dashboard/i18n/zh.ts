import type { TextKey } from './en.ts'
import { audit } from './zh/audit.ts'
import { common } from './zh/common.ts'
import { keys } from './zh/keys.ts'
import { limits } from './zh/limits.ts'
import { overview } from './zh/overview.ts'
import { refusals } from './zh/refusals.ts'
import { traffic } from './zh/traffic.ts'
import { users } from './zh/users.ts'

export { reasons as zhReasons } from './zh/reasons.ts'

export const zh: Readonly<Record<TextKey, string>> = {
  ...common,
  ...overview,
  ...limits,
  ...traffic,
  ...users,
  ...refusals,
  ...keys,
  ...audit,
}
