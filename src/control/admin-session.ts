/** The session cookie of the dashboard. Its owner can change the quota, so it is no credential of clients, and the upstream never gets it. */
export const ADMIN_SESSION = 'tollgate_session'

/** The name of the session cookie with TLS. A browser accepts it only from this host, so no page of a sibling domain can replace it. */
export const SECURE_ADMIN_SESSION = `__Host-${ADMIN_SESSION}`

export const ADMIN_SESSIONS: ReadonlySet<string> = new Set([ADMIN_SESSION, SECURE_ADMIN_SESSION])

/** The cookie of a sign-in at a provider, and its name with TLS. */
export const ADMIN_SIGN_IN = 'tollgate_sign_in'
export const SECURE_ADMIN_SIGN_IN = `__Host-${ADMIN_SIGN_IN}`

/** All cookies of the dashboard. */
export const ADMIN_COOKIES: ReadonlySet<string> = new Set([...ADMIN_SESSIONS, ADMIN_SIGN_IN, SECURE_ADMIN_SIGN_IN])
