import { randomUUID } from 'node:crypto'
import type { Socket } from 'node:net'
import type { Denial } from '../errors.ts'
import type { RefusedOnConnection } from '../observe/observation.ts'
import { type Presentation, presented } from '../respond/presentation.ts'
import { denialResponse, writeRawResponse } from '../respond/response.ts'

/** Refuses a plain connection before there is an HTTP request. @returns what to report */
export function refuseConnection(
  socket: Socket,
  denied: Denial,
  presentation: Presentation | null,
): RefusedOnConnection {
  const requestId = randomUUID()
  const asked = { origin: undefined, requestId, method: null, path: null, user: null }
  socket.on('error', () => {})
  writeRawResponse(socket, presented(presentation, denialResponse(denied), asked), { requestId, method: null })
  return { requestId, method: null, error: denied.code, reason: denied.reason ?? null }
}
