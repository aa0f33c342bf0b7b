import type { Handler } from './backend.ts'
import { chargeQueue, chargeTicket, clearTickets, listTickets } from './charge.ts'
import { refuse } from './errors.ts'
import { updateFish, updateLxns } from './external/update.ts'
import { clearMusic, deleteMusic, listMusic, upsertMusic } from './music.ts'
import type { Path } from './operations.ts'
import { userData, userGates, userItems, userPreview, userRegions } from './user.ts'

/** Who may call a route: anybody (health probes), the gateway (by the shared secret), or the gateway for a user. */
export type Access = 'open' | 'gateway' | 'user'

export interface Route {
  readonly method: 'GET' | 'POST'
  readonly path: Path
  readonly access: Access
  readonly handle: Handler
}

const health: Handler = async () => ({ returnCode: 0, returnMessage: 'pong', code: 0, msg: 'pong' })

const openapi: Handler = ({ document }) => document()

/** An endpoint that clients know and this backend does not have. */
const leftOut: Handler = async () => refuse('capability_missing', 'this endpoint is not part of this backend')

export const ROUTES: readonly Route[] = [
  { method: 'GET', path: '/openapi.json', access: 'open', handle: openapi },
  { method: 'GET', path: '/v1/health', access: 'open', handle: health },
  { method: 'GET', path: '/v1/charge/queue', access: 'gateway', handle: chargeQueue },

  user('/v1/user/preview', userPreview),
  user('/v1/user/data', userData),
  user('/v1/user/region', userRegions),
  user('/v1/user/charge', listTickets),
  user('/v1/user/item-list', userItems),
  user('/v1/user/kaleidx-scope', userGates),
  user('/v1/user/music', listMusic),

  user('/v1/music/upsert', upsertMusic),
  user('/v1/music/delete', deleteMusic),
  user('/v1/music/clear', clearMusic),
  user('/v1/charge', chargeTicket),
  user('/v1/ticket/clear', clearTickets),

  user('/v1/update-lx', updateLxns),
  user('/v1/update-fish', updateFish),

  user('/v1/item/upsert', leftOut),
  user('/v1/user/upsert-all', leftOut),
  user('/v1/kaleidx-scope/upsert', leftOut),
]

function user(path: Path, handle: Handler): Route {
  return { method: 'POST', path, access: 'user', handle }
}
