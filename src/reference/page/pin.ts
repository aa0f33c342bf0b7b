/** The description of a service. Only its parts that tell where requests go are typed. */
export type OpenapiDocument = { openapi: string; paths?: unknown; servers?: unknown } & { [key: string]: unknown }

/**
 * The document with no server but those of the service: credentials that somebody types for one service must never go to
 * another one. Servers of another origin are left out. If none is left, the service's own address is the server.
 * @param at where the document was read; its relative servers are relative to it
 */
export function pinned(document: OpenapiDocument, at: URL, service: URL): OpenapiDocument {
  const servers = serversOf(document.servers, at, service.origin)
  const own = { url: service.href.replace(/\/+$/, '') }
  const result: OpenapiDocument = { ...document, servers: servers.length > 0 ? servers : [own] }
  if (isMap(document.paths)) result.paths = each(document.paths, (item) => pinnedItem(item, at, service.origin))
  return result
}

type Members = { [key: string]: unknown }

function pinnedItem(item: Members, at: URL, origin: string): Members {
  return each(withServers(item, at, origin), (operation) => withServers(operation, at, origin))
}

/** The servers of a path or an operation. If none of them is allowed, those of the document apply. */
function withServers({ servers: written, ...rest }: Members, at: URL, origin: string): Members {
  const servers = serversOf(written, at, origin)
  return servers.length > 0 ? { ...rest, servers } : rest
}

function serversOf(servers: unknown, at: URL, origin: string): Members[] {
  const all = Array.isArray(servers) ? servers.filter(isMap) : []
  return all.flatMap(({ url, variables, ...rest }) => {
    // The value of a variable in an address is not known beforehand.
    const target = typeof url === 'string' && !url.includes('{') ? URL.parse(url, at) : null
    return target?.origin === origin ? [{ ...rest, url: target.href.replace(/\/+$/, '') }] : []
  })
}

function each(map: Members, change: (value: Members) => Members): Members {
  return Object.fromEntries(Object.entries(map).map(([key, value]) => [key, isMap(value) ? change(value) : value]))
}

function isMap(value: unknown): value is Members {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
