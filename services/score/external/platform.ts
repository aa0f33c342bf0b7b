import type * as z from 'zod'
import type { Chart } from '../../music/catalogue.ts'
import type { ChartId } from '../../music/ids.ts'
import type { Refusal } from '../errors.ts'
import type { MusicDetail } from '../scores.ts'

/** The contract between an update and the two platforms. */

export type PlatformName = 'lxns' | 'fish'

/** The platform's name of a chart. A part that could not be read is `null`. */
export interface RecordName {
  readonly id: number | null
  readonly type: string | null
  readonly level_index: number | null
}

/** Why a record was not accepted, by this service or by the platform. */
export const REASONS = [
  'music_not_found',
  'achievement_out_of_range',
  'dx_score_out_of_range',
  'invalid_record',
  'ambiguous_title',
  'rejected',
] as const
export type Reason = (typeof REASONS)[number]

export interface Skipped extends RecordName {
  readonly reason: Reason
}

/** A record of a platform in the terms of this service, before the catalogue judges it. */
export interface Foreign extends ChartId {
  /** In percent, as the platform wrote it: a double would round it. */
  readonly achievements: string
  readonly dxScore: number
  readonly comboStatus: number
  readonly syncStatus: number
}

/** A stored score in the form that the platform accepts. */
export interface Outbound {
  readonly name: RecordName
  readonly wire: object
}

export interface Question<T> {
  readonly method: 'GET' | 'POST'
  /** The path below the base URL. */
  readonly path: string
  readonly body?: unknown
  /** The form of a good response. Anything else counts as no response. */
  readonly response: z.ZodType<T>
}

/** Asks the platform with the user's token. */
export type Ask = <T>(question: Question<T>) => Promise<{ readonly said: T } | Refusal>

export interface Platform {
  readonly name: PlatformName
  /** The name in messages. */
  readonly title: string
  /** The header for a token that the user made. Access tokens of applications go into Authorization. */
  readonly tokenHeader: string
  /** Whether a refusal by the platform is about the token. */
  isBadToken(status: number, message: string): boolean
  /** All records of the user. */
  pull: Question<readonly unknown[]>
  /** `null` if the record does not have the documented form. */
  read(record: unknown): Foreign | null
  /** Names a pulled record, as far as it can be read. */
  nameOf(record: unknown): RecordName
  /** Names a chart of this service as the platform does. */
  nameFor(chart: ChartId): RecordName
  /** A score to send, or the reason why it cannot be sent. */
  write(score: MusicDetail, chart: Chart): object | Reason
  /** Sends one batch, which is not empty. */
  push(ask: Ask, batch: readonly Outbound[]): Promise<{ accepted: number; skipped: readonly Skipped[] } | Refusal>
}
