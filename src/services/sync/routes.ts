import type { AnswerDoc, Operation } from '../common/openapi.ts'
import type { Handler } from './backend.ts'
import { NO_PLAYER, NO_TOKEN, UPLOADING } from './errors.ts'
import { CHUNK, CONFLICT, PARTIAL } from './examples.ts'
import { readPlayer, readSummary, readTrend } from './player.ts'
import {
  conflictAnswer,
  errorAnswer,
  playerAnswer,
  problemsAnswer,
  summaryAnswer,
  syncAnswer,
  trendAnswer,
} from './schemas/answers.ts'
import { playerPath, syncBody, trendQuery } from './schemas/requests.ts'
import { syncScores } from './sync.ts'

/** A route and what is told of it. */
export interface Route extends Operation {
  readonly handle: Handler
}

const SECURITY = ['BotToken']
const SYNC = `Without full_snapshot the records raise what is stored, field by field, and never lower it.
With full_snapshot they overwrite it, and what they do not name is deleted: at once, or, for a snapshot in several requests that
share one snapshot_id, when the request with snapshot_final comes. Repeating a request changes nothing. A snapshot without a request
for 30 minutes (default) is given up: what was written stays and nothing is deleted.`

const BAD: AnswerDoc = { description: 'The request cannot be carried out', schema: errorAnswer }
const STRANGER: AnswerDoc = { description: 'No valid Bot-Token', schema: errorAnswer, example: NO_TOKEN.body }
const UNKNOWN: AnswerDoc = { description: 'No such player', schema: errorAnswer, example: NO_PLAYER.body }
const MALFORMED: AnswerDoc = { description: 'The request is not of the described form', schema: problemsAnswer }
const FAILED: AnswerDoc = { description: 'A failure of the service', schema: errorAnswer }

export const ROUTES: readonly Route[] = [
  {
    method: 'POST',
    path: '/api/bot/sync',
    summary: 'Store scores of a player, alone or as a part of a snapshot',
    description: SYNC,
    security: SECURITY,
    body: syncBody,
    bodyExample: CHUNK,
    answers: {
      200: { description: 'Stored', schema: syncAnswer, example: PARTIAL },
      400: BAD,
      401: STRANGER,
      409: {
        description: 'Another snapshot is not finished, this one is finished already, or chunks of it are missing',
        schema: conflictAnswer,
        example: CONFLICT,
      },
      413: { description: 'The body is larger than 8 MiB', schema: errorAnswer },
      422: MALFORMED,
      429: {
        description: 'Scores of this player are being stored; try again after Retry-After seconds',
        schema: errorAnswer,
        example: UPLOADING.body,
      },
      500: FAILED,
    },
    handle: syncScores,
  },
  {
    ...reading('/api/bot/player/:qq', 'A player with all scores'),
    answers: { 200: { description: 'The player', schema: playerAnswer }, ...readingAnswers() },
    handle: readPlayer,
  },
  {
    ...reading('/api/bot/player/:qq/summary', 'A player without scores'),
    answers: { 200: { description: 'The player', schema: summaryAnswer }, ...readingAnswers() },
    handle: readSummary,
  },
  {
    ...reading('/api/bot/player/:qq/trend', 'The rating of a player, day by day'),
    query: trendQuery,
    answers: { 200: { description: 'The days with a sync', schema: trendAnswer }, ...readingAnswers() },
    handle: readTrend,
  },
]

function reading(path: string, summary: string) {
  return { method: 'GET', path, summary, security: SECURITY, params: playerPath } as const
}

function readingAnswers() {
  return { 400: BAD, 401: STRANGER, 404: UNKNOWN, 422: MALFORMED, 500: FAILED }
}
