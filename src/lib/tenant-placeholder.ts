/** Stands in the name of an issuer of JWTs where its tokens have their tenant: `https://login.microsoftonline.com/{tenantid}/v2.0`. */
export const TENANT = '{tenantid}'
