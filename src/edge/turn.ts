import { once } from 'node:events'
import type { ServerResponse } from 'node:http'

/**
 * Whether the responses before this one on its connection are not out yet. Such a request is not looked at: it would hold a
 * place, a charge and a connection to the upstream while its response waits, and all of that 32 times for one connection.
 */
export function isBehindOthers(res: ServerResponse): boolean {
  return res.socket === null && !res.destroyed
}

/** Resolves when the responses before it are out, or its connection is gone. */
export async function turnOf(res: ServerResponse): Promise<void> {
  await Promise.race([once(res, 'socket'), once(res, 'close')])
}
