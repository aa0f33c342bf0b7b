import * as z from 'zod'
import { examplesIn } from '../common/examples.ts'
import type { ErrorCode } from './errors.ts'
import * as responses from './schemas/answers.ts'
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

type Tag = 'Scores' | 'User data' | 'Tickets' | 'Score platforms' | 'Service'

/** The description of one endpoint. */
export interface Doc {
  readonly summary: string
  readonly description?: string
  readonly tag: Tag
  /** @param listLimit the most records in one list */
  readonly body?: (listLimit: number) => z.ZodType
  readonly bodyExample?: unknown
  readonly headers?: z.ZodObject
  /** The body of a success; none if there is no success. */
  readonly response?: z.ZodType
  readonly responseExample?: unknown
  /** Refusals beside those that every endpoint of the same access has. */
  readonly errors?: readonly ErrorCode[]
}

const example = examplesIn(import.meta.url)

/** A missing body counts as an empty one. */
const WITHOUT_PARAMETERS = { body: () => emptyBody.prefault({}), bodyExample: {} }

/** The descriptions by path. */
export const DOCS = {
  '/openapi.json': {
    summary: 'This document',
    tag: 'Service',
    response: responses.openapi,
    responseExample: { openapi: '3.1.1', info: { title: 'Score service', version: '1' }, paths: {} },
  },
  '/v1/health': {
    summary: 'Whether the service is up',
    tag: 'Service',
    response: responses.health,
    responseExample: example('health.200'),
  },
  '/v1/charge/queue': {
    summary: 'The queue of purchases, which is always empty',
    tag: 'Tickets',
    response: responses.chargeQueue,
    responseExample: example('charge-queue.200'),
  },

  '/v1/user/preview': {
    summary: 'The light form of the user data',
    tag: 'User data',
    ...WITHOUT_PARAMETERS,
    response: responses.preview,
    responseExample: example('user-preview.200'),
  },
  '/v1/user/data': {
    summary: 'The user data',
    tag: 'User data',
    ...WITHOUT_PARAMETERS,
    response: responses.userData,
    responseExample: example('user-data.200'),
  },
  '/v1/user/region': {
    summary: 'Where the user has played',
    tag: 'User data',
    ...WITHOUT_PARAMETERS,
    response: responses.regions,
    responseExample: example('user-region.200'),
  },
  '/v1/user/charge': {
    summary: 'The tickets of the user that are good',
    tag: 'Tickets',
    ...WITHOUT_PARAMETERS,
    response: responses.tickets,
    responseExample: example('user-charge.200'),
  },
  '/v1/user/item-list': {
    summary: 'The items of the user, of one kind only with itemKind',
    tag: 'User data',
    body: () => itemListBody.prefault({}),
    bodyExample: { itemKind: 3 },
    response: responses.items,
    responseExample: example('user-item-list.200'),
  },
  '/v1/user/kaleidx-scope': {
    summary: 'The Gates of the user',
    tag: 'User data',
    ...WITHOUT_PARAMETERS,
    response: responses.gates,
    responseExample: example('user-kaleidx-scope.200'),
  },
  '/v1/user/music': {
    summary: 'All scores of the user',
    tag: 'Scores',
    description: 'One group for each musicId, by musicId and level.',
    ...WITHOUT_PARAMETERS,
    response: responses.music,
    responseExample: example('user-music.200'),
  },

  '/v1/music/upsert': {
    summary: 'Write scores, also over better ones',
    tag: 'Scores',
    description:
      'All of the list is written or nothing. With `fuzzy` the dxScore is a number of stars from 0 to 5, and the least ' +
      'DX score that earns them is stored. A single record may stand alone instead of in musicList.',
    body: (listLimit) => musicListOf(scoreRecord, listLimit),
    bodyExample: example('music-upsert-exact.request'),
    response: responses.upserted,
    responseExample: example('music-upsert-exact.200'),
    errors: ['music_not_found', 'dx_score_out_of_range'],
  },
  '/v1/music/delete': {
    summary: 'Delete scores',
    tag: 'Scores',
    description: 'All of the list is deleted or nothing.',
    body: (listLimit) => musicListOf(scoreKey, listLimit),
    bodyExample: { musicList: [{ musicId: 11466, level: 3 }] },
    response: responses.deleted,
    responseExample: example('music-delete.200'),
    errors: ['music_not_found', 'score_not_found'],
  },
  '/v1/music/clear': {
    summary: 'Delete all scores of the user',
    tag: 'Scores',
    body: () => clearBody,
    bodyExample: { confirm: true },
    response: responses.cleared,
    responseExample: example('music-clear.200'),
  },
  '/v1/charge': {
    summary: 'Buy one ticket',
    tag: 'Tickets',
    description: 'With an Idempotency-Key the same request is carried out once in 24 hours, and answered alike.',
    headers: z.object({ 'Idempotency-Key': z.string().min(1).max(255).optional() }),
    body: () => chargeBody,
    bodyExample: { chargeId: 2 },
    response: responses.charged,
    responseExample: example('charge.200'),
    errors: ['ticket_limit', 'idempotency_conflict'],
  },
  '/v1/ticket/clear': {
    summary: 'Take all purchased tickets away',
    tag: 'Tickets',
    ...WITHOUT_PARAMETERS,
    response: responses.ticketsCleared,
    responseExample: example('ticket-clear.200'),
  },

  '/v1/update-lx': updateDoc('LXNS', 'key', 'lxns'),
  '/v1/update-fish': updateDoc('Diving-Fish', 'token', 'fish'),

  '/v1/item/upsert': { summary: 'Not part of this backend', tag: 'Service', errors: ['capability_missing'] },
  '/v1/user/upsert-all': { summary: 'Not part of this backend', tag: 'Service', errors: ['capability_missing'] },
  '/v1/kaleidx-scope/upsert': { summary: 'Not part of this backend', tag: 'Service', errors: ['capability_missing'] },
} as const satisfies Readonly<Record<string, Doc>>

export type Path = keyof typeof DOCS

function updateDoc(title: string, field: 'key' | 'token', platform: 'lxns' | 'fish'): Doc {
  return {
    summary: `Read scores from ${title}, or send them there`,
    tag: 'Score platforms',
    description:
      `\`pull\` (the default) reads the user's records and merges them: of each field the better value, so nothing is ` +
      `lowered. \`push\` sends the stored scores, and ${title} keeps each as it is sent, also over a better one; \`both\` ` +
      'pulls and then pushes. Records that are not taken over are counted, and the first 20 of them are named. The ' +
      'token is used for this request only: it is neither stored nor logged.',
    body: () => updateBody(field),
    bodyExample: { [field]: `your-token-for-${title}`, mode: 'pull' },
    response: responses.updated(platform),
    responseExample: example(field === 'key' ? 'update-lx.200' : 'update-fish.200'),
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
