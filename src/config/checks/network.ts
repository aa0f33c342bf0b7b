import { foldedName } from '../../lib/field-names.ts'
import { type HostPort, isInMemory, isLoopback, leadsTo, shareAddress } from '../addresses.ts'
import { ADMIN_NAME } from '../admin-name.ts'
import type { PartialConfig } from '../partial.ts'
import { placeholderIn } from '../placeholder.ts'
import { type Finding, formatPath, type Path, quote } from '../problems.ts'

/** Checks listeners, the upstream, and trusted proxies. */
export function checkNetwork(parsed: PartialConfig): Finding[] {
  return [
    ...checkAdmin(parsed),
    ...checkAdminTokens(parsed.admin),
    ...checkPeople(parsed.admin),
    ...checkTokenLengths(parsed.admin),
    ...checkWorkers(parsed),
    ...checkLoop(parsed),
    ...checkUpstream(parsed.upstream),
    ...checkHost(parsed.upstream),
    ...checkLenient(parsed.upstream),
    ...checkProxies(parsed),
    ...checkProxyProtocol(parsed.edge),
  ]
}

function checkAdmin({ listen, admin }: PartialConfig): Finding[] {
  const findings: Finding[] = []
  if (admin.listen === undefined) return findings
  const path = ['admin', 'listen']
  if (listen !== undefined && collide(listen, admin.listen)) {
    findings.push({ path, message: 'is the address of listen: choose another port' })
  }
  const hasNone = 'token' in admin && admin.token === undefined && admin.tokens.length === 0
  if (hasNone && !isLoopback(admin.listen.host)) {
    const message = 'others can reach this address, and there is no admin.token: add one, or listen on 127.0.0.1'
    findings.push({ path, message })
  }
  return findings
}

/** Scripts need tokens too, because they cannot sign in at a provider. */
function checkPeople({ oidc, trusted, ...admin }: PartialConfig['admin']): Finding[] {
  const hasNone = 'token' in admin && admin.token === undefined && admin.tokens.length === 0
  const lacking = (['oidc', 'trusted'] as const).filter((key) => hasNone && { oidc, trusted }[key] !== undefined)
  const message = 'needs an admin token beside it, for scripts and for the day when nobody can sign in: add admin.token'
  const everybody = (trusted?.from ?? []).flatMap(({ prefix }, i): Finding[] => {
    const danger = `trusts everybody, so anybody is an administrator by curl -H '${trusted?.name}: …': name the proxy`
    return prefix === 0 ? [{ path: ['admin', 'trusted', 'from', i], message: danger }] : []
  })
  return [...lacking.map((key): Finding => ({ path: ['admin', key], message })), ...everybody]
}

/** The audit must be able to distinguish tokens, by their names and by their values. */
function checkAdminTokens({ token, tokens }: PartialConfig['admin']): Finding[] {
  return (['name', 'token'] as const).flatMap((key) => {
    const first = new Map<string, string>()
    if (token !== undefined) first.set(key === 'name' ? ADMIN_NAME : token, 'admin.token')
    return tokens.flatMap((each, i): Finding[] => {
      const [value, path] = [each[key], ['admin', 'tokens', i]]
      const rival = value === undefined ? undefined : first.get(value)
      if (value !== undefined && rival === undefined) first.set(value, formatPath(path))
      const message = `is the ${key} of ${rival}, too: choose another`
      return rival === undefined ? [] : [{ path: [...path, key], message }]
    })
  })
}

/** A right token is accepted whatever wrong ones came before, so only its length keeps others from guessing it. */
const LONG = 32

function checkTokenLengths({ token, tokens }: PartialConfig['admin']): Finding[] {
  const all = [[token, ['admin', 'token']], ...tokens.map(({ token }, i) => [token, ['admin', 'tokens', i, 'token']])]
  return (all as [string | undefined, Path][]).flatMap(([text, path]) => checkTokenLength(text, path))
}

/** @param token undefined for none */
export function checkTokenLength(token: string | undefined, path: Path): Finding[] {
  if (token === undefined || token.length >= LONG) return []
  const message = `has ${token.length} characters, which may be guessed: make one with "openssl rand -hex 32"`
  return [{ path, severity: 'warning', message }]
}

/** Port 0 is a different port each time. */
export function collide(a: HostPort, b: HostPort): boolean {
  return a.port === b.port && a.port !== 0 && shareAddress(a.host, b.host)
}

/** In memory each worker would count for itself, so the limits would not hold. */
function checkWorkers({ workers = 1, store }: PartialConfig): Finding[] {
  if (workers === 1 || store === undefined || !isInMemory(store)) return []
  const message = 'a store in memory cannot be shared by several workers: name a file, or write workers: 1'
  return [{ path: ['store'], message }]
}

/** A TLS server with several names may respond with 421 if Host differs from the name in the handshake (RFC 9110 section 15.5.20). */
function checkHost({ url, host }: PartialConfig['upstream']): Finding[] {
  if (url === undefined || host !== 'preserve' || !url.startsWith('https:')) return []
  const message =
    'the upstream gets the Host of the client, but by TLS the name of upstream.tls.server_name or upstream.url: a server of several names responds with 421 Misdirected Request. Write host: upstream, or serve every Host there'
  return [{ path: ['upstream', 'url'], severity: 'warning', message }]
}

/** Each request would come back, be charged again and go out again, until no connection is left. */
function checkLoop({ listen, upstream }: PartialConfig): Finding[] {
  if (listen === undefined || upstream.url === undefined || upstream.socket !== undefined) return []
  const { protocol, hostname, port } = new URL(upstream.url)
  const target = Number(port) || (protocol === 'https:' ? 443 : 80)
  if (target !== listen.port || !leadsTo(hostname.replace(/^\[|\]$/g, ''), listen.host)) return []
  const message =
    'is the address of listen, so requests would come back to the gateway: name the upstream, or choose another port'
  return [{ path: ['upstream', 'url'], message }]
}

function checkUpstream(upstream: PartialConfig['upstream']): Finding[] {
  const { url, socket, tls, headers, pass_authorization } = upstream
  const findings: Finding[] = []
  if ('url' in upstream && url === undefined && 'socket' in upstream && socket === undefined) {
    const message = 'is missing: write the upstream’s address, like http://127.0.0.1:9000, or upstream.socket'
    findings.push({ path: ['upstream', 'url'], message })
  }
  if (socket !== undefined && /^(?:unix:|[a-z]+:\/\/)/i.test(socket)) {
    findings.push({ path: ['upstream', 'socket'], message: 'is a URL: write the path alone, like /run/app.sock' })
  }
  if (tls !== undefined && (url?.startsWith('http:') || (url === undefined && socket !== undefined))) {
    findings.push({
      path: ['upstream'],
      key: 'tls',
      message: 'tls has no meaning for an http url: remove it, or write https',
    })
  }
  if (tls !== undefined && (tls.certFile === null) !== (tls.keyFile === null)) {
    findings.push({ path: ['upstream', 'tls'], message: 'cert and key go together: add the other one' })
  }
  if (pass_authorization && headers?.has('authorization')) {
    const message = 'pass_authorization and a fixed Authorization header exclude each other: remove one of them'
    findings.push({ path: ['upstream'], key: 'pass_authorization', message })
  }
  return [...findings, ...checkHeaders(headers), ...checkNames(upstream)]
}

/** Only `bare_lf` lets a response gain fields, so the other faults get no warning. */
function checkLenient({ lenient = [] }: PartialConfig['upstream']): Finding[] {
  const at = lenient.indexOf('bare_lf')
  if (at < 0) return []
  const message =
    'a service that writes what it is sent into a field lets GET /?x=%0ASet-Cookie:%20a=b set one: remove it unless the upstream ends its lines in LF alone'
  return [{ path: ['upstream', 'lenient', at], severity: 'warning', message }]
}

function checkHeaders(headers: PartialConfig['upstream']['headers'] = new Map()): Finding[] {
  return [...headers].flatMap(([name, value]): Finding[] => {
    const placeholder = placeholderIn(value)
    if (placeholder === null) return []
    const message = `the upstream gets ${quote(placeholder)} as it stands, for every user: write a fixed value, or name this header under upstream.identity`
    return [{ path: ['upstream', 'headers', name], severity: 'warning', message }]
  })
}

/** Each header must have one source, even for an upstream that reads `_` as `-`. */
function checkNames({
  headers = new Map(),
  identity = new Map(),
  quota_field,
  remove_headers = [],
}: PartialConfig['upstream']): Finding[] {
  const places = [
    ...[...headers.keys()].map((name) => [name, ['headers', name]] as const),
    ...[...identity.keys()].map((name) => [name, ['identity', name]] as const),
    ...(quota_field === undefined ? [] : [[quota_field, ['quota_field']] as const]),
    ...remove_headers.map((name, i) => [name, ['remove_headers', i]] as const),
  ]
  const first = new Map<string, Path>()
  return places.flatMap(([name, place]): Finding[] => {
    const rival = first.get(foldedName(name))
    if (rival === undefined) first.set(foldedName(name), place)
    if (rival === undefined || (rival[0] === 'headers' && place[0] === 'headers')) return []
    const message = `header ${name} stands in upstream.${rival[0]} as well: remove one of them`
    return [{ path: ['upstream', ...place], message }]
  })
}

function checkProxies({ auth: { trusted }, edge: { trusted_proxies = [] } }: PartialConfig): Finding[] {
  const danger =
    trusted === undefined
      ? 'any client can choose the address it seems to come from'
      : `any client can be any user, alice by curl -H '${trusted.user}: alice'`
  const message = `trusts everybody, so ${danger}: name the proxies in front`
  return trusted_proxies.flatMap(({ prefix }, i): Finding[] => {
    return prefix === 0 ? [{ path: ['edge', 'trusted_proxies', i], severity: 'warning', message }] : []
  })
}

/** Without trusted proxies, the PROXY protocol would be refused from every peer, as it is without the key. */
function checkProxyProtocol({ proxy_protocol = false, trusted_proxies }: PartialConfig['edge']): Finding[] {
  if (!proxy_protocol || trusted_proxies?.length !== 0) return []
  const message = 'is for peers of edge.trusted_proxies only, and there is none: name the load balancer there'
  return [{ path: ['edge', 'proxy_protocol'], message }]
}
