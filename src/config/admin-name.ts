/** The name of the token in `admin.token`. It has a file of its own, because a running gateway needs it without the schema. */
export const ADMIN_NAME = 'admin'
