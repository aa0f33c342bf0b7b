/** The cookie of a session of the dashboard. Whoever holds it can change the quota, so it is no credential of clients, and the upstream never gets it. */
export const ADMIN_SESSION = 'tollgate_session'

/** Its name by TLS: a browser then takes it from this very host only, so no page of a sibling domain can put another in its place. */
export const SECURE_ADMIN_SESSION = `__Host-${ADMIN_SESSION}`

export const ADMIN_SESSIONS: ReadonlySet<string> = new Set([ADMIN_SESSION, SECURE_ADMIN_SESSION])

/** The cookie of a sign-in that was begun at a provider, and its name by TLS. */
export const ADMIN_SIGN_IN = 'tollgate_sign_in'
export const SECURE_ADMIN_SIGN_IN = `__Host-${ADMIN_SIGN_IN}`

/** All cookies of the dashboard. */
export const ADMIN_COOKIES: ReadonlySet<string> = new Set([...ADMIN_SESSIONS, ADMIN_SIGN_IN, SECURE_ADMIN_SIGN_IN])
