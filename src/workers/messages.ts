import type { Config, RouteConfig } from '../config/config.ts'
import type { Adaptive } from '../failures/adaptive.ts'
import type { Snapshot } from '../observe/metrics.ts'

/** The messages between the primary and its workers. They are sent as structured clones, so maps stay maps. */
export type ToWorker =
  /** A part of the rules of the configuration that follows without rules (`config/parts.ts`). */
  | { readonly type: 'rules'; readonly rules: readonly RouteConfig[] }
  /** Sent once, after the rules and before all else; `config` is this worker's share. */
  | {
      readonly type: 'begin'
      readonly worker: number
      readonly version: string
      readonly config: Config
      readonly hash: string
      /** Why the last configuration file was not accepted; empty if it was. */
      readonly problems: readonly string[]
    }
  /** A configuration file was not accepted. */
  | { readonly type: 'rejected'; readonly problems: readonly string[] }
  | { readonly type: 'reload'; readonly config: Config; readonly hash: string }
  | { readonly type: 'report'; readonly id: number }
  | { readonly type: 'drain'; readonly on: boolean }
  | { readonly type: 'stop' }

export type FromWorker =
  | { readonly type: 'listening'; readonly url: string }
  /** The worker could not begin, and ends. `path` is the key of the configuration that caused it, if one did. */
  | { readonly type: 'failed'; readonly problem: string; readonly path: readonly (string | number)[] | null }
  /** The configuration with this hash is in force, or was not accepted. */
  | { readonly type: 'reloaded'; readonly hash: string; readonly problem: string | null }
  /** `id` is that of the question. The last report of a worker that ends comes unasked, with -1. */
  | { readonly type: 'report'; readonly id: number; readonly report: Report }

/** The state of a worker. */
export interface Report {
  readonly ready: boolean
  readonly reasons: readonly string[]
  /** The adaptive factor in force. */
  readonly adaptive: Adaptive
  readonly metrics: Snapshot
}
