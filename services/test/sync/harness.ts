import { join } from 'node:path'
import { atEnd, tempFolder } from '../../../test/setup/at-end.ts'
import { hold } from '../../../test/setup/own-responses.ts'
import { BUNDLED_CATALOGUE } from '../../music/catalogue.ts'
import { createSyncService, type SyncServiceOptions } from '../../sync/service.ts'
import { bodyText, responseOf, type ServiceResponse } from '../responses.ts'

export const TOKEN = 'bot-token-of-the-tests'

/** 2026-08-25T10:00:00Z, the moment of the documented examples. */
export const NOON = Date.UTC(2026, 7, 25, 10)
export const MINUTE = 60 * 1000
export const HOUR = 60 * MINUTE
export const DAY = 24 * HOUR

/** The player of the documented examples. */
export const QQ = 123456789

export interface Sent {
  readonly method?: string
  readonly body?: unknown
  readonly headers?: Record<string, string>
}

/** A running service with a clock that the test moves. Every answer is held against the service's own OpenAPI document. */
export async function startSync(options: Partial<SyncServiceOptions> = {}) {
  const clock = { now: NOON }
  const errors: object[] = []
  const database = options.database ?? join(tempFolder(), 'sync.db')
  const start = async () => {
    const service = await createSyncService({
      database,
      catalogue: BUNDLED_CATALOGUE,
      botTokens: [TOKEN],
      clock: () => clock.now,
      logger: { error: (fields) => errors.push(fields) },
      ...options,
    })
    const { url } = await service.listen({ host: '127.0.0.1', port: 0 })
    document ??= await (await fetch(`${url}/openapi.json`)).json()
    hold(url, { document: () => document })
    return { service, url }
  }
  let running = await start()
  const close = atEnd(() => running.service.close())
  async function restart() {
    await running.service.close()
    running = await start()
  }

  async function send(path: string, { method = 'GET', body, headers = {} }: Sent = {}): Promise<ServiceResponse> {
    const response = await fetch(running.url + path, {
      method,
      headers: { 'bot-token': TOKEN, ...(body !== undefined && { 'content-type': 'application/json' }), ...headers },
      ...(body !== undefined && { body: bodyText(body) }),
    })
    return responseOf(response)
  }
  const sync = (body: unknown) => send('/api/bot/sync', { method: 'POST', body })
  const player = (qq: number | string, rest = '') => send(`/api/bot/player/${qq}${rest}`)
  /** What is stored of a player, by key. */
  async function stored(qq = QQ) {
    const { status, json } = await player(qq)
    const records: [string, object][] = status === 404 ? [] : json.records.map((r: Key) => [keyOf(r), r])
    return Object.fromEntries(records)
  }
  return { sync, player, stored, send, restart, close, clock, errors, database, url: () => running.url }
}

interface Key {
  readonly song_id: number
  readonly level_index: number
}

export function keyOf({ song_id, level_index }: Key): string {
  return `${song_id}/${level_index}`
}

/** The same for every service of a file. */
let document: unknown

/** A record of a chart that the catalogue does not know, so that nothing is said for it. */
export function record(song_id = 2001, more: object = {}) {
  return { song_id, level_index: 3, achievements: 99.5, dxScore: 1000, ...more }
}

export const [ONE, TWO, THREE] = [record(2001), record(2002), record(2003)]

/** A chunk of snapshot `id`. */
export function chunk(id: string, records: readonly object[], more: object = {}) {
  return { qq: QQ, full_snapshot: true, snapshot_id: id, snapshot_final: false, records, ...more }
}

/** The last chunk of snapshot `id`. */
export function finalChunk(id: string, records: readonly object[], more: object = {}) {
  return chunk(id, records, { snapshot_final: true, ...more })
}

export function incremental(records: readonly object[], more: object = {}) {
  return { qq: QQ, records, ...more }
}
