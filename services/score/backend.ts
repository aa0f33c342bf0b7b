import type * as z from 'zod'
import type { Catalogue } from '../music/catalogue.ts'
import { isRefusal, type Refusal } from './errors.ts'
import type { External } from './external/config.ts'
import { readBy } from './schemas/requests.ts'
import type { Store } from './store.ts'

/** The parts that the handlers use. */
export interface Backend {
  readonly store: Store
  readonly catalogue: Catalogue
  /** Milliseconds since the epoch. */
  readonly clock: () => number
  /** The most records in one list. */
  readonly listLimit: number
  /** The most tickets of one kind. */
  readonly maxStock: number
  /** The settings of the external platforms; `null` if they are not used. */
  readonly external: External | null
  /** The OpenAPI document of this service. It is made when it is first asked for. */
  readonly document: () => Promise<object>
}

/** A request whose credential was checked. */
export interface Call {
  /** The gateway's user; empty if the route needs none. */
  readonly user: string
  /** The parsed body; `{}` if none was sent. */
  readonly body: unknown
  /** The `Idempotency-Key` header. */
  readonly key: string | undefined
  /** Aborted when the client leaves before it has its response. */
  readonly signal: AbortSignal
}

/** Carries a request out: the body of the response, or a refusal. @throws DatabaseBusy */
export type Handler = (backend: Backend, call: Call) => Promise<object | Refusal>

/** The envelope of every success. */
export function success(businessData: object) {
  return { returnCode: 1, returnMessage: 'success', code: 0, msg: 'success', businessData }
}

/** Makes the `businessData` of a success from what is stored of the user, by the body as its schema reads it. */
type Act<T> = (backend: Backend, userId: number, wanted: T) => object

/** A handler that only reads what is stored of the user. */
export function reading<T extends object>(schema: z.ZodType<T>, act: Act<T>): Handler {
  return inTransaction('read', schema, act)
}

/** A handler that changes what is stored of the user. */
export function writing<T extends object>(schema: z.ZodType<T>, act: Act<T>): Handler {
  return inTransaction('write', schema, act)
}

function inTransaction<T extends object>(kind: 'read' | 'write', schema: z.ZodType<T>, act: Act<T>): Handler {
  return async (backend, { user, body }) => {
    const wanted = readBy(schema, body)
    if (isRefusal(wanted)) return wanted
    const userId = await backend.store.players.idOf(user)
    return backend.store[kind](() => success(act(backend, userId, wanted)))
  }
}
