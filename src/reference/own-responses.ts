import type { OwnStatus } from '../contract/client.ts'
import { cleanResponse } from './clean.ts'
import { OF_FORWARDED, responseRef } from './gateway-responses.ts'
import { type Json, maps, resolve } from './json.ts'
import type { Access } from './matching.ts'

function ownStatuses({ charged, route }: Access): OwnStatus[] {
  if (charged === null) return [...OF_FORWARDED]
  return route?.idempotency == null ? [...OF_FORWARDED, 401] : [...OF_FORWARDED, 401, 422]
}

/** Adds the gateway's own responses to those of an operation. @param own the gateway's responses by their names in the components */
export function withOwnResponses(upstream: Json, responses: Json, access: Access, own: Json): Json {
  const both = ownStatuses(access).map((status) => {
    const theirs = theirResponse(responses, status)
    const ours = responseRef(status)
    if (theirs === undefined) return [status, ours]
    return [
      status,
      eitherResponse(resolve({ components: { responses: own } }, ours), cleanResponse(resolve(upstream, theirs))),
    ]
  })
  return { ...responses, ...Object.fromEntries(both) }
}

/** The document's response to this status comes first, then the one for its class, and then the default. */
function theirResponse(responses: Json, status: OwnStatus): unknown {
  return responses[status] ?? responses[`${Math.floor(status / 100)}XX`] ?? responses.default
}

/** A response that may come from either side, with one status. */
function eitherResponse(ours: Json, theirs: Json): Json {
  const content = Object.fromEntries(maps(theirs.content))
  const mine = Object.fromEntries(maps(ours.content))
  const type = 'application/json'
  const schemas = [mine[type]?.schema, content[type]?.schema].filter((schema) => schema !== undefined)
  return {
    ...theirs,
    description: `${ours.description} Or, of the service: ${theirs.description ?? ''}`,
    headers: { ...Object.fromEntries(maps(theirs.headers)), ...Object.fromEntries(maps(ours.headers)) },
    content: {
      ...content,
      ...mine,
      [type]: { ...content[type], schema: schemas.length > 1 ? { anyOf: schemas } : schemas[0] },
    },
  }
}
