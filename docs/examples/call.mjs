// @ts-check
import { createClient } from './client.mjs'

/**
 * One call from a shell, with client.mjs beside it. Node 20 or newer.
 *
 *   node call.mjs METHOD PATH [BODY]     with TOLLGATE_URL and TOLLGATE_TOKEN in the environment
 */

const { TOLLGATE_URL = 'http://127.0.0.1:8080', TOLLGATE_TOKEN = '' } = process.env
const [method = 'GET', path = '/me/quota', body] = process.argv.slice(2)
const call = createClient({ url: TOLLGATE_URL, token: TOLLGATE_TOKEN })
const answer = await call({ method, path, ...(body !== undefined && { body }) })
console.log(answer.status, answer.body)
