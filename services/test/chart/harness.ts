import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { atEnd, tempFolder } from '../../../test/setup/at-end.ts'
import { hold } from '../../../test/setup/own-responses.ts'
import { type ChartServiceOptions, createChartService } from '../../chart/service.ts'
import { bodyText, responseOf, type ServiceResponse } from '../responses.ts'

export const ADMIN = 'administrator-secret-of-the-tests'
/** The moment of the documented examples. */
export const NOON = Date.UTC(2026, 7, 6, 14, 6, 26)

export function golden(name: string): string {
  return readFileSync(fileURLToPath(new URL(`golden/${name}`, import.meta.url)), 'utf8')
}

/** The documented chart. */
export const SAMPLE = golden('maidata.txt')

/** A folder of charts. @param songs texts by musicId */
export function chartsFolder(songs: Record<string, string | Uint8Array>): string {
  const folder = tempFolder()
  for (const [musicId, text] of Object.entries(songs)) {
    mkdirSync(join(folder, musicId))
    writeFileSync(join(folder, musicId, 'maidata.txt'), text)
  }
  return folder
}

export interface Sent {
  readonly method?: string
  /** Of the Authorization header. Default: a key that is in force. */
  readonly token?: string | null
  readonly headers?: Record<string, string>
  readonly body?: unknown
}

/** A running chart service with one key. Every answer is held against the service's own OpenAPI document. */
export async function startCharts({
  songs = { 11466: SAMPLE },
  ...options
}: Partial<ChartServiceOptions> & { songs?: Record<string, string | Uint8Array> } = {}) {
  const errors: string[] = []
  const warnings: string[] = []
  const service = await createChartService({
    database: join(tempFolder(), 'chart.db'),
    charts: options.charts ?? chartsFolder(songs),
    adminSecret: ADMIN,
    clock: () => NOON,
    logger: {
      error: (_fields, message) => errors.push(message),
      warn: (_fields, message) => warnings.push(message),
    },
    ...options,
  })
  atEnd(() => service.close())
  const { url } = await service.listen({ host: '127.0.0.1', port: 0 })
  const { key, id } = await service.createKey('tests')
  const document = await (await fetch(`${url}/openapi.json`)).json()
  atEnd(hold(url, { document: () => document }))

  async function ask(
    path: string,
    { method = 'GET', token = key, headers = {}, body }: Sent = {},
  ): Promise<ServiceResponse> {
    const response = await fetch(url + path, {
      method,
      headers: {
        ...(token !== null && { authorization: `Bearer ${token}` }),
        ...(body !== undefined && { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body !== undefined && { body: bodyText(body) }),
    })
    return responseOf(response)
  }

  const admin = (path: string, sent: Sent = {}) => ask(path, { token: ADMIN, ...sent })
  return { service, url, key, id, errors, warnings, ask, admin }
}
