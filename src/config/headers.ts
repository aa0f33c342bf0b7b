import { ADMIN_COOKIES } from '../control/admin-session.ts'
import { neverPasses, OVERRIDES } from '../inputs/header-names.ts'
import { isAlwaysRead } from '../inputs/inputs.ts'
import { foldedName, isFieldName } from '../lib/field-names.ts'
import { quote } from './problems.ts'
import type { Reading } from './units.ts'

/** Rules for the names and values of header fields that a configuration adds, removes or reads. */

const MAX_NAME = 256
/** A field value of RFC 9110 section 5.5 that is not empty. Blanks and tabs may only be inside it. */
export const HEADER_VALUE = /^[!-~\x80-\xff](?:[\t -~\x80-\xff]*[!-~\x80-\xff])?$/

/** The gateway writes these itself, or they belong to one connection (RFC 9110 section 7.6.1). */
const OURS = new Set([
  ...['connection', 'keep-alive', 'proxy-authenticate', 'proxy-authorization', 'proxy-connection', 'te', 'trailer'],
  ...['transfer-encoding', 'upgrade', 'content-length', 'expect', 'host', 'x-tollgate-user', 'http2-settings'],
])

/** These describe a request and its origin already, so no configured field may have their names. */
const TAKEN = new Set([
  ...['x-request-id', 'via', 'authorization', 'cookie', 'content-type', 'content-encoding', 'max-forwards'],
  ...['x-forwarded-for', 'x-forwarded-proto', 'x-forwarded-host', 'x-forwarded-port', 'x-forwarded-prefix'],
])

/** What is wrong with the name of a fixed header; `null` if nothing is. */
export function nameProblem(name: string): string | null {
  if (!isFieldName(name, MAX_NAME)) return `${quote(name)} is not a header name: write letters, digits and "-"`
  if (name.toLowerCase() === 'host') return `header ${name} is that of upstream.host: write it there`
  return OURS.has(name.toLowerCase()) ? `header ${name} is set by the gateway itself: remove it` : null
}

/** What is wrong with the name of a field that names the caller; `null` if nothing is. */
export function identityNameProblem(name: string): string | null {
  return freeNameProblem(name, 'X-Remote-User')
}

/** What is wrong with the name of the field for the quota; `null` if nothing is. */
export function quotaFieldProblem(name: string): string | null {
  return name.toLowerCase() === 'x-tollgate-quota' ? null : freeNameProblem(name, 'X-Tollgate-Quota')
}

/** What is wrong with the name of the field that marks repetitions; `null` if nothing is. Only letters, digits and "-" are allowed in requests. */
export function repetitionHeaderProblem(name: string): string | null {
  return clientHeaderProblem(name, 'Idempotency-Key', 'and serves each repetition anew for nothing')
}

/** What is wrong with the name of a field with the price; `null` if nothing is. */
export function priceHeaderProblem(name: string): string | null {
  return clientHeaderProblem(name, 'X-Units', 'so what is charged by it is not what is served')
}

/** @param unread the effect if the upstream never gets the field */
function clientHeaderProblem(name: string, like: string, unread: string): string | null {
  if (!PLAIN_NAME.test(name)) return `${quote(name)} is not a header name: write letters, digits and "-"`
  const problem = freeNameProblem(name, like)
  if (problem !== null) return problem
  if (NO_CALLER.has(name.toLowerCase()) || isAlwaysRead(name.toLowerCase()))
    return `header ${name} says something else already: take a name like ${like}`
  return neverPasses(name.toLowerCase())
    ? `the upstream never gets ${name} of a client, ${unread}: take a name like ${like}`
    : null
}

const PLAIN_NAME = /^[0-9A-Za-z-]{1,128}$/

function freeNameProblem(name: string, like: string): string | null {
  const problem = nameProblem(name)
  if (problem !== null || !(TAKEN.has(foldedName(name)) || foldedName(name).startsWith('x-tollgate-'))) return problem
  return `header ${name} says something else already: take a name like ${like}`
}

/** What is wrong with a header's name in a list; `null` if nothing is. */
export function fieldNameProblem(name: string): string | null {
  if (isFieldName(name, MAX_NAME) && name !== '*') return null
  return `${quote(name)} is not a header name: write letters, digits and "-"`
}

/** A fact about the caller that a field for the upstream contains. */
export type Fact =
  | { readonly kind: 'user' | 'organisation' | 'plan' }
  | { readonly kind: 'claim'; readonly path: string }

/** `user`, `organisation`, `plan`, or `claim` and its path. */
export function parseFact(text: string): Reading<Fact> {
  if (text === 'user' || text === 'organisation' || text === 'plan') return { value: { kind: text } }
  const [, path] = /^claim +(\S{1,128})$/.exec(text) ?? []
  if (path !== undefined) return { value: { kind: 'claim', path } }
  return {
    problem: `${quote(text)} is nothing that is known of a caller: write user, organisation, plan, or claim PATH, like claim email`,
  }
}

/** What is wrong with the name of a header to remove; `null` if nothing is. */
export function removedNameProblem(name: string): string | null {
  return name.includes('*')
    ? `${quote(name)} looks like a pattern: write the whole name of each header`
    : nameProblem(name)
}

/** A name that differs from an earlier one only in letter case. */
export function repeatedName(names: readonly string[]): string | undefined {
  return names.find((name, i) => names.findIndex((other) => other.toLowerCase() === name.toLowerCase()) < i)
}

/** These frame, route or describe a message, or have another meaning for the gateway. */
const NO_CALLER = new Set([
  ...['origin', 'referer', 'range', 'date', 'via', 'max-forwards', 'x-request-id', 'x-forwarded-for'],
  ...['content-type', 'content-encoding', 'forwarded', 'sec-websocket-protocol', 'sec-websocket-key', 'accept'],
])

/** What is wrong with the name of a field that identifies callers; `null` if nothing is. Only letters, digits and "-" are allowed. */
export function callerHeaderProblem(name: string): string | null {
  const lower = name.toLowerCase()
  if (!PLAIN_NAME.test(name)) return `${quote(name)} is not a header name: write letters, digits and "-"`
  if (lower === 'cookie') return 'is the field of cookies: write { cookie: NAME }'
  if (!OURS.has(lower) && !NO_CALLER.has(lower) && !OVERRIDES.has(lower) && !/^(?:proxy|x-tollgate)-/.test(lower))
    return null
  return `header ${name} cannot say who asks: name another`
}

/** What is wrong with the name of a cookie that identifies callers; `null` if nothing is. */
export function cookieProblem(name: string): string | null {
  if (!isFieldName(name, MAX_NAME)) return `${quote(name)} is not a cookie name: write letters, digits and "-"`
  return ADMIN_COOKIES.has(name) ? 'is a cookie of the dashboard, and no credential here: name another' : null
}
