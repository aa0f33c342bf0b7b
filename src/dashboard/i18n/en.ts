import { audit } from './en/audit.ts'
import { common } from './en/common.ts'
import { keys } from './en/keys.ts'
import { limits } from './en/limits.ts'
import { overview } from './en/overview.ts'
import { refusals } from './en/refusals.ts'
import { traffic } from './en/traffic.ts'
import { users } from './en/users.ts'

export { reasons as enReasons } from './en/reasons.ts'

/** All words of the page, by area. A key stands in one of them. The other languages have the same keys. */
export const en = {
  ...common,
  ...overview,
  ...limits,
  ...traffic,
  ...users,
  ...refusals,
  ...keys,
  ...audit,
}

export type TextKey = keyof typeof en

/** What follows a beginning in those keys that have it. */
export type NameIn<Key extends string, Begin extends string> = Key extends `${Begin}${infer Name}` ? Name : never

/** What is wrong with something that was typed. */
export type Problem = Extract<TextKey, `problem.${string}`>

/** By the path of the API; the whole has the empty one. */
export type Problems = Readonly<Record<string, Problem>>
