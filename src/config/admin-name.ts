/** `admin.token` is short for one token of this name. Apart from the schema, which a running gateway does not need. */
export const ADMIN_NAME = 'admin'
