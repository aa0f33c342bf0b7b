/** The cookie of a session of the dashboard. Whoever holds it can change the quota, so it is no credential of clients, and the upstream never gets it. */
export const ADMIN_SESSION = 'tollgate_session'
