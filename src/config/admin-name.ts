/** `admin.token` is short for one token of this name. Apart from the schema, which a gateway that runs does not need. */
export const ADMIN_NAME = 'admin'
