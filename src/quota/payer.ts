/** The owner of limits: a user, and what the credential says about him. */
export interface Payer {
  readonly user: string
  readonly organisation: string | null
  /** Any text, even if no plan has this name. */
  readonly plan: string | null
  /** The first day of months, in `PERIOD_DAY`. Absent if the credential names none. */
  readonly periodDay?: number
  /**
   * The first day of months of the organisation, if it differs; `null` for none. It comes from a log and never from a credential. Default
   * `periodDay`.
   */
  readonly organisationDay?: number | null
}

/** What a credential names for both the user and the user's organisation. */
export type Named = Pick<Payer, 'plan' | 'periodDay'>

/** The days with which somebody's months begin. */
export type NamedDays = Pick<Payer, 'periodDay' | 'organisationDay'>

/** A payer for a user whose id alone is known. */
export function payerOf(user: string): Payer {
  return { user, organisation: null, plan: null }
}

/** No user has this id. */
const NO_USER = ''

/** Stands for any user of an organisation, to ask for the organisation's limits. */
export function memberOf(organisation: string, named: Named | null = null): Payer {
  return { user: NO_USER, organisation, plan: null, ...named }
}
