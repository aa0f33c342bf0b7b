import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect } from 'vitest'
import { atEnd, tempFolder } from '../../../test/setup/at-end.ts'
import { hold } from '../../../test/setup/own-responses.ts'
import { BUNDLED_CATALOGUE } from '../../music/catalogue.ts'
import { scoreDocument } from '../../score/openapi.ts'
import { type AccessRecord, createScoreService, LIST_LIMIT, type ScoreServiceOptions } from '../../score/service.ts'
import { bodyText, responseOf, type ServiceResponse } from '../responses.ts'

export const SECRET = 'shared-secret-of-the-tests'

/** 2026-08-06T14:06:26Z, the moment of the documented examples. */
export const NOON = Date.UTC(2026, 7, 6, 14, 6, 26)
export const HOUR = 60 * 60 * 1000
export const DAY = 24 * HOUR

export interface Sent {
  readonly user?: string
  readonly method?: string
  readonly headers?: Record<string, string>
  readonly signal?: AbortSignal
}

const DOCUMENT = scoreDocument(LIST_LIMIT)

/** A documented body: what a request sends, or the answer with that status. */
export function golden(name: string): string {
  return readFileSync(fileURLToPath(new URL(`../../score/examples/${name}.json`, import.meta.url)), 'utf8')
}

/** A running score service with a clock that the test moves. Each response is held against its OpenAPI document. */
export async function startScore(options: Partial<ScoreServiceOptions> = {}) {
  const clock = { now: NOON }
  const records: AccessRecord[] = []
  const errors: object[] = []
  const database = options.database ?? join(tempFolder(), 'score.db')
  const service = await createScoreService({
    database,
    catalogue: BUNDLED_CATALOGUE,
    backendSecret: SECRET,
    clock: () => clock.now,
    onRequest: (record) => records.push(record),
    logger: { error: (fields) => errors.push(fields) },
    ...options,
  })
  const close = atEnd(() => service.close())
  const { url } = await service.listen({ host: '127.0.0.1', port: 0 })
  atEnd(hold(url, { document: () => DOCUMENT }))

  /** Posts a body as the gateway would; a string is sent as it stands. */
  async function post(path: string, body: unknown = {}, sent: Sent = {}) {
    const { user = 'alice', method = 'POST', headers = {}, signal = null } = sent
    const response = await fetch(url + path, {
      method,
      signal,
      headers: {
        'content-type': 'application/json',
        'x-backend-secret': SECRET,
        'x-tollgate-user': encodeURIComponent(user),
        ...headers,
      },
      ...(method === 'GET' || method === 'HEAD' ? {} : { body: bodyText(body) }),
    })
    return responseOf(response)
  }
  return { service, url, database, clock, records, errors, post, close }
}

/** Expects a refusal with this status and this code. */
export function expectRefused({ status, json }: ServiceResponse, wanted: number, error: string): void {
  expect([status, json.error]).toEqual([wanted, error])
}

/** A record for the chart of the documented examples, which has a maximum DX score of 2934. */
export function record(more: object = {}) {
  return { musicId: 11466, level: 3, achievement: 100.5, dxScore: 2800, ...more }
}

/** A song for a catalogue of a test, with five charts of 100 notes. */
export function song(musicId: number, more: object = {}) {
  const notes = { tap: 100, hold: 0, slide: 0, touch: 0, break: 0, total: 100 }
  return {
    musicId,
    title: `Song ${musicId}`,
    artist: 'Nobody',
    genre: 'Original',
    bpm: 120,
    version: '1.00',
    type: musicId > 10_000 ? 'dx' : 'standard',
    isNew: false,
    charts: [0, 1, 2, 3, 4].map((level) => ({ level, levelLabel: '5', ds: 5, designer: '', notes, maxDxScore: 300 })),
    ...more,
  }
}

/** A catalogue of such songs by the rules from before CiRCLE. */
export function catalogueOf(songs: readonly object[], rating: object = { allPerfect: 0 }) {
  return { rating, songs }
}

/** A file with that content, gone after the test. */
export function fileOf(content: unknown): string {
  const file = join(tempFolder(), 'content.json')
  writeFileSync(file, typeof content === 'string' ? content : JSON.stringify(content))
  return file
}
