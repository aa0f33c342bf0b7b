/** Stands for the tenant of a token in the issuer's name of JWTs: `https://login.microsoftonline.com/{tenantid}/v2.0`. */
export const TENANT = '{tenantid}'
