import * as z from 'zod'
import type { ErrorCode } from './errors.ts'
import * as answers from './schemas/answers.ts'
import {
  chargeBody,
  clearBody,
  emptyBody,
  itemListBody,
  musicListOf,
  scoreKey,
  scoreRecord,
  updateBody,
} from './schemas/requests.ts'

/** What is told of one endpoint. */
export interface Doc {
  readonly summary: string
  readonly description?: string
  /** @param listLimit most records in one list */
  readonly body?: (listLimit: number) => z.ZodType
  readonly bodyExample?: unknown
  readonly headers?: z.ZodObject
  /** The body of a success; none where there is no success. */
  readonly answer?: z.ZodType
  /** Refusals beside those that every endpoint knows. */
  readonly errors?: readonly ErrorCode[]
}

/** No body at all counts as an empty one. */
const nothing = () => emptyBody.prefault({})

const EXAMPLE_RECORD = {
  musicId: 11466,
  level: 3,
  achievement: 100.5,
  dxScore: 2800,
  comboStatus: 'ap',
  syncStatus: 'fsd',
}

/** By path. */
export const DOCS = {
  '/openapi.json': { summary: 'This document', answer: answers.openapi },
  '/v1/health': { summary: 'Whether the service is up', answer: answers.health },
  '/v1/charge/queue': { summary: 'The queue of purchases, which is always empty', answer: answers.chargeQueue },

  '/v1/user/preview': { summary: 'The light form of the user data', body: nothing, answer: answers.preview },
  '/v1/user/data': { summary: 'The user data', body: nothing, answer: answers.userData },
  '/v1/user/region': { summary: 'Where the user has played', body: nothing, answer: answers.regions },
  '/v1/user/charge': { summary: 'The tickets of the user that are good', body: nothing, answer: answers.tickets },
  '/v1/user/item-list': {
    summary: 'The items of the user, of one kind only with itemKind',
    body: () => itemListBody.prefault({}),
    bodyExample: { itemKind: 3 },
    answer: answers.items,
  },
  '/v1/user/kaleidx-scope': { summary: 'The Gates of the user', body: nothing, answer: answers.gates },
  '/v1/user/music': {
    summary: 'All scores of the user',
    description: 'One group for each musicId, by musicId and level.',
    body: nothing,
    answer: answers.music,
  },

  '/v1/music/upsert': {
    summary: 'Write scores, also over better ones',
    description:
      'All of the list is written or nothing. With `fuzzy` the dxScore is a number of stars from 0 to 5, and the least ' +
      'DX score that earns them is stored. A single record may stand alone instead of in musicList.',
    body: (listLimit) => musicListOf(scoreRecord, listLimit),
    bodyExample: { musicList: [EXAMPLE_RECORD] },
    answer: answers.upserted,
    errors: ['music_not_found', 'dx_score_out_of_range'],
  },
  '/v1/music/delete': {
    summary: 'Delete scores',
    description: 'All of the list is deleted or nothing.',
    body: (listLimit) => musicListOf(scoreKey, listLimit),
    bodyExample: { musicList: [{ musicId: 11466, level: 3 }] },
    answer: answers.deleted,
    errors: ['music_not_found', 'score_not_found'],
  },
  '/v1/music/clear': {
    summary: 'Delete all scores of the user',
    body: () => clearBody,
    bodyExample: { confirm: true },
    answer: answers.cleared,
  },
  '/v1/charge': {
    summary: 'Buy one ticket',
    description: 'With an Idempotency-Key the same request is carried out once in 24 hours, and answered alike.',
    headers: z.object({ 'Idempotency-Key': z.string().min(1).max(255).optional() }),
    body: () => chargeBody,
    bodyExample: { chargeId: 2 },
    answer: answers.charged,
    errors: ['ticket_limit', 'idempotency_conflict'],
  },
  '/v1/ticket/clear': {
    summary: 'Take all purchased tickets away',
    body: nothing,
    answer: answers.ticketsCleared,
  },

  '/v1/update-lx': updateDoc('LXNS', 'key', answers.updated('lxns')),
  '/v1/update-fish': updateDoc('Diving-Fish', 'token', answers.updated('fish')),

  '/v1/item/upsert': { summary: 'Not part of this backend', errors: ['capability_missing'] },
  '/v1/user/upsert-all': { summary: 'Not part of this backend', errors: ['capability_missing'] },
  '/v1/kaleidx-scope/upsert': { summary: 'Not part of this backend', errors: ['capability_missing'] },
} as const satisfies Readonly<Record<string, Doc>>

export type Path = keyof typeof DOCS

function updateDoc(title: string, field: 'key' | 'token', answer: z.ZodType): Doc {
  return {
    summary: `Read scores from ${title}, or send them there`,
    description:
      `\`pull\` (the default) reads the user's records and merges them: of each field the better value, so nothing is ` +
      `lowered. \`push\` sends the stored scores, and ${title} keeps each as it is sent, also over a better one; \`both\` ` +
      'pulls and then pushes. Records that are not taken over are counted, and the first 20 of them are named. The ' +
      'token is used for this request only: it is neither stored nor logged.',
    body: () => updateBody(field),
    bodyExample: { [field]: `your-token-for-${title}`, mode: 'pull' },
    answer,
    errors: [
      'capability_missing',
      'external_auth_failed',
      'external_rejected',
      'external_rate_limited',
      'external_unavailable',
      'external_timeout',
    ],
  }
}
