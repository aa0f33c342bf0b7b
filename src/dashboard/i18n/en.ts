import { audit } from './en/audit.ts'
import { common } from './en/common.ts'
import { keys } from './en/keys.ts'
import { limits } from './en/limits.ts'
import { overview } from './en/overview.ts'
import { refusals } from './en/refusals.ts'
import { traffic } from './en/traffic.ts'
import { users } from './en/users.ts'

export { reasons as enReasons } from './en/reasons.ts'

/** All texts of the page by area. Each key is in exactly one area. Other languages have the same keys. */
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

/** The rest of those keys that begin with a text. */
export type NameIn<Key extends string, Begin extends string> = Key extends `${Begin}${infer Name}` ? Name : never

/** What is wrong with a typed text. */
export type Problem = Extract<TextKey, `problem.${string}`>

/** By the path in the API; empty for the whole. */
export type Problems = Readonly<Record<string, Problem>>
