/** Whose limits are asked for: a user, and what the credential says of him. */
export interface Payer {
  readonly user: string
  readonly organisation: string | null
  /** Any text. */
  readonly plan: string | null
  /** The day with which months begin, in `PERIOD_DAY`; missing if the credential names none. */
  readonly periodDay?: number
}

/** What a credential names for a user and the user's organisation alike. */
export type Named = Pick<Payer, 'plan' | 'periodDay'>

/** A user of whom nothing else is known, as whoever has only an id. */
export function payerOf(user: string): Payer {
  return { user, organisation: null, plan: null }
}

/** No user has this id. */
const NO_USER = ''

/** Any user of an organisation: whose limits of the organisation hold. */
export function memberOf(organisation: string, named: Named | null = null): Payer {
  return { user: NO_USER, organisation, plan: null, ...named }
}
