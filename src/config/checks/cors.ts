import type { PartialConfig } from '../partial.ts'
import { type Finding, quote } from '../problems.ts'

/** Checks rules for pages of other origins. */
export function checkCors({ cors, auth }: PartialConfig): Finding[] {
  const { origins = [], credentials = false } = cors ?? {}
  const any = origins.indexOf('*')
  const findings: Finding[] = []
  if (any >= 0 && origins.length > 1) {
    findings.push({ path: ['cors', 'origins', any], message: '"*" is any origin: remove it, or the others' })
  }
  if (any >= 0 && credentials) {
    const message =
      'is not possible with any origin: a page anywhere could read what whoever is signed in gets. Name the origins, or write credentials: false'
    findings.push({ path: ['cors', 'credentials'], message })
  }
  const [cookie] = auth.from?.flatMap((source) => (source.kind === 'cookie' ? source.name : [])) ?? []
  if (credentials && cookie !== undefined) {
    const message = `a script of these origins acts for whoever has the cookie ${quote(cookie)}: fetch("/me/quota", { credentials: "include" }) reads his quota. Name only origins whose pages you trust with that, or take the credential from a header`
    findings.push({ path: ['cors', 'credentials'], severity: 'warning', message })
  }
  if (cors !== undefined && cors.credentials === false && hasOnlyCookies(auth)) {
    const message = `a page of these origins has no credential: its POST with the cookie ${quote(cookie ?? '')} gets 401. Name the origins and write credentials: true, or let auth.from read a header, too`
    findings.push({ path: ['cors'], severity: 'warning', message })
  }
  const sandboxed = origins.indexOf('null')
  if (sandboxed >= 0) {
    const message =
      'any page can send "Origin: null" from a sandboxed frame, and so read what these origins may: name the origin, unless a file or an app without one has to ask'
    findings.push({ path: ['cors', 'origins', sandboxed], severity: 'warning', message })
  }
  return findings
}

/** Whether callers are identified only by cookies. */
function hasOnlyCookies({
  from = [],
  unverified_keys,
  trusted,
  client_certificate,
  anonymous,
}: PartialConfig['auth']): boolean {
  const others = [unverified_keys, trusted, client_certificate, anonymous]
  return from.length > 0 && from.every(({ kind }) => kind === 'cookie') && others.every((key) => key === undefined)
}
