import { counted } from '../lib/counted.ts'
import { type LimitValue, limitText } from '../quota/limit-value.ts'
import type { Mode } from '../quota/policy.ts'

/** A value that nobody follows. */
export interface Unfollowed {
  /** With dots, as in `changed` of the settings: `plans.free.personal.read.1h`. */
  readonly path: string
  readonly by: readonly Hiding[]
}

/** What overrides a value for everybody. */
export type Hiding =
  | { readonly kind: 'plan'; readonly plan: string; readonly limit: LimitValue }
  /** This many further plans, which also set the value. */
  | { readonly kind: 'plans'; readonly count: number }
  /** The overrides of this many users. */
  | { readonly kind: 'overrides'; readonly count: number }
  | { readonly kind: 'organisation_overrides' }
  | { readonly kind: 'no_users'; readonly plan: string }
  | { readonly kind: 'no_organisation'; readonly plan: string }
  | { readonly kind: 'mode'; readonly mode: Mode }
  | { readonly kind: 'custom'; readonly limit: LimitValue }
  | { readonly kind: 'switched_off' }

/** Why nobody follows a value, as a part of a sentence: `plan free sets 40`. */
export function whyUnfollowed({ by }: Pick<Unfollowed, 'by'>): string {
  const parts = by.map(hidingText)
  return parts.length > 1 ? `${parts.slice(0, -1).join(', ')} and ${parts.at(-1)}` : (parts[0] ?? '')
}

function hidingText(hiding: Hiding): string {
  switch (hiding.kind) {
    case 'plan':
      return `plan ${hiding.plan} sets ${limitText(hiding.limit)}`
    case 'plans':
      return `${counted(hiding.count, 'other plan sets', 'other plans set')} it too`
    case 'overrides':
      return `overrides set it for ${counted(hiding.count, 'user')}`
    case 'organisation_overrides':
      return 'overrides of their organisations set it'
    case 'no_users':
      return `plan ${hiding.plan} has no known users`
    case 'no_organisation':
      return `no known user of plan ${hiding.plan} belongs to an organisation`
    case 'mode':
      return `the mode is ${hiding.mode}, and this is for mode custom`
    case 'custom':
      return `mode custom has ${limitText(hiding.limit)}`
    case 'switched_off':
      return 'the global limits are switched off'
  }
}
