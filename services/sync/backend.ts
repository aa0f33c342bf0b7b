import type { Catalogue } from '../music/catalogue.ts'
import type { Refusal } from './errors.ts'
import type { Store } from './store.ts'

/** The parts that the handlers use. */
export interface Backend {
  readonly store: Store
  readonly catalogue: Catalogue
  /** Milliseconds since the epoch. */
  readonly clock: () => number
  /** After so many milliseconds without a chunk an open snapshot has expired. */
  readonly snapshotIdleMs: number
  /** Players whose sync this process is carrying out. */
  readonly uploading: Set<number>
}

/** A request whose credential was checked; nothing else in it is judged yet. */
export interface Call {
  readonly params: Readonly<Record<string, unknown>>
  readonly query: Readonly<Record<string, unknown>>
  /** The parsed body; `undefined` if none was sent. */
  readonly body: unknown
}

/** Carries a request out: the body of the response, or a refusal that has changed no score. @throws DatabaseBusy */
export type Handler = (backend: Backend, call: Call) => Promise<object | Refusal>
