/** Whose limits are asked for: a user, and what the credential says of him. */
export interface Payer {
  readonly user: string
  readonly organisation: string | null
  /** Any text. */
  readonly plan: string | null
  /** The day with which months begin, in `PERIOD_DAY`; missing if the credential names none. */
  readonly periodDay?: number
  /**
   * The same for months of the organisation, where that is another day; `null` if nobody names one. No credential says so, but the log of
   * a gateway. Default `periodDay`.
   */
  readonly organisationDay?: number | null
}

/** What a credential names for a user and the user's organisation alike. */
export type Named = Pick<Payer, 'plan' | 'periodDay'>

/** With which days the months of somebody begin. */
export type NamedDays = Pick<Payer, 'periodDay' | 'organisationDay'>

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
