import { type Backend, type Handler, success } from '../backend.ts'
import { isRefusal, type Refusal, refuse } from '../errors.ts'
import { readBy, updateBody } from '../schemas/requests.ts'
import { converse } from './conversation.ts'
import { fish } from './fish.ts'
import { lxns } from './lxns.ts'
import type { Ask, Platform } from './platform.ts'
import { pull } from './pull.ts'
import { push } from './push.ts'

/** POST /v1/update-lx: reads the user's scores from LXNS, or sends them there. */
export const updateLxns: Handler = update(lxns, 'key')

/** POST /v1/update-fish: reads the user's scores from Diving-Fish, or sends them there. */
export const updateFish: Handler = update(fish, 'token')

interface Update {
  readonly platform: Platform
  readonly ask: Ask
  readonly player: number
  /** The most records in one request of a push; 0 for all. */
  readonly batch: number
  readonly mode: 'pull' | 'push' | 'both'
}

/** @param field of the body that holds the user's token for the platform */
function update(platform: Platform, field: 'key' | 'token'): Handler {
  const schema = updateBody(field)
  return async (backend, { user, body, signal }) => {
    const { external, store, clock } = backend
    const site = external?.[platform.name]
    if (external === null || site === undefined) {
      return refuse('capability_missing', `${platform.title} is not configured in this backend`)
    }
    const wanted = readBy(schema, body)
    if (isRefusal(wanted)) return wanted

    const startedAt = new Date(clock()).toISOString()
    const player = await store.players.idOf(user)
    const { ask, end } = converse({ platform, baseUrl: site.base_url, external, token: wanted.token, signal })
    try {
      const done = await carryOut(backend, { platform, ask, player, batch: site.batch, mode: wanted.mode })
      if (isRefusal(done)) return done
      const finishedAt = new Date(clock()).toISOString()
      return success({ platform: platform.name, mode: wanted.mode, ...done, startedAt, finishedAt })
    } finally {
      end()
    }
  }
}

/** The pull comes first, so that the push overwrites each score of the platform with the better of the two. */
async function carryOut(backend: Backend, { mode, ...update }: Update): Promise<object | Refusal> {
  const pulled = mode === 'push' ? null : await pull(backend, update)
  if (pulled !== null && isRefusal(pulled)) return pulled
  const pushed = mode === 'pull' ? null : await push(backend, update, pulled?.unread ?? new Map())
  if (pushed === null || !isRefusal(pushed)) return { pull: pulled?.report ?? null, push: pushed }
  return pulled === null ? pushed : { ...pushed, msg: `${pushed.msg}; what was pulled before is kept` }
}
