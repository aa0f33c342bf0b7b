/** Whose limits are asked for: a user, and what the credential says of him. */
export interface Payer {
  readonly user: string
  readonly organisation: string | null
  /** Any text. */
  readonly plan: string | null
}

/** A user of whom nothing else is known, as whoever has only an id. */
export function payerOf(user: string): Payer {
  return { user, organisation: null, plan: null }
}

/** No user has this id. */
const NO_USER = ''

/** Any user of an organisation: whose limits of the organisation hold. */
export function memberOf(organisation: string, plan: string | null = null): Payer {
  return { user: NO_USER, organisation, plan }
}
