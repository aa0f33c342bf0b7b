import { MAX_CONNECTIONS } from '../admin/connections.ts'
import type { Config } from '../config/config.ts'
import { openFilesLimit } from '../lib/open-files.ts'

/** Files besides connections: the store, the log, the listeners, and Node's own. */
const OTHERS = 64

/**
 * Why this process may run out of open files; `null` if it may not. Above its limit Node closes a new connection at
 * once (26.10: libuv, `uv__emfile_trick`), which neither the log nor a metric would show.
 * @param limit of open files. Default: the limit of this process
 */
export function openFilesProblem(
  { edge, upstream }: Pick<Config, 'edge' | 'upstream'>,
  limit = openFilesLimit(),
): string | null {
  const connections = connectionsOf({ edge, upstream })
  if (limit === null || limit >= connections + OTHERS) return null
  return `edge: this process may have ${limit} files open, and edge.max_connections, upstream.max_connections, edge.max_tunnels and the admin listener (${MAX_CONNECTIONS}) allow for ${connections} connections: above its limit clients are turned away without a word; raise it (ulimit -Hn, LimitNOFILE) or lower these`
}

type Bounds = Pick<Config, 'edge' | 'upstream'>

/** How many files a process may have open at most, with all its connections. */
export function neededFiles(config: Bounds): number {
  return connectionsOf(config) + OTHERS
}

function connectionsOf({ edge, upstream }: Bounds): number {
  return edge.maxConnections + upstream.maxConnections + edge.maxTunnels + MAX_CONNECTIONS
}
