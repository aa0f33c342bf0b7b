import type { Scope } from '../../contract/api.ts'

/** The word of each scope, by its key. */
export const SCOPE_WORDS = {
  Personal: 'word.personal',
  Organisation: 'word.organisation',
  Global: 'word.global',
} as const satisfies Record<Scope, string>
