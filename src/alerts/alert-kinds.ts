import type { AlertKind } from './alert-kind.ts'
import { FAILURES } from './kinds/failures.ts'
import { WINDOWS } from './kinds/windows.ts'

/** All kinds of alerts, in the order in which their scopes are named. */
const KINDS = [WINDOWS, FAILURES] as const
export const ALERT_KINDS: readonly AlertKind[] = KINDS

type ScopeOf<K> = K extends AlertKind ? keyof K['scopes'] : never
type KeyOf<K> = K extends AlertKind ? keyof K['keys'] : never

export type AlertScope = ScopeOf<(typeof KINDS)[number]>
/** The own keys of all kinds. Keys of other kinds are `null`. */
export type AlertKeys = Readonly<Record<KeyOf<(typeof KINDS)[number]>, number | null>>

export const ALERT_SCOPES = KINDS.flatMap(({ scopes }) => Object.keys(scopes)) as [AlertScope, ...AlertScope[]]

export function kindOf(scope: AlertScope): AlertKind {
  return ALERT_KINDS.find(({ scopes }) => scope in scopes) as AlertKind
}
