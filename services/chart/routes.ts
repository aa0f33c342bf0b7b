import * as z from 'zod'
import type { Operation } from '../common/openapi.ts'
import { chartDetail, listCharts, notesBetween } from './charts.ts'
import { type Refusal, refuse } from './errors.ts'
import { PICTURE } from './example.ts'
import type { Keys } from './keys.ts'
import type { Chart, Library } from './library.ts'
import { drawFrame } from './preview/frame.ts'
import { drawStrip } from './preview/strip.ts'
import {
  chartBody,
  chartParams,
  errorBody,
  keyParams,
  keysBody,
  listBody,
  listQuery,
  newKey,
  newKeyBody,
  noQuery,
  notesBody,
  notesQuery,
  previewQuery,
} from './schemas.ts'

/** Who may call a route: anybody, a client with an API key, or the administrator with the secret of this service. */
export type Access = 'open' | 'key' | 'admin'

/** The parts that the handlers use. */
export interface Desk {
  readonly library: Library
  readonly keys: Keys
}

/** A request that has been admitted. */
export interface Call {
  readonly params: Readonly<Record<string, string>>
  readonly query: Readonly<Record<string, unknown>>
  readonly body: unknown
  readonly ifNoneMatch: string | undefined
}

export interface ServiceResponse {
  /** Default 200. */
  readonly status?: number
  readonly headers?: Readonly<Record<string, string>>
  /** JSON, unless the headers name another type. */
  readonly body?: object | string | Uint8Array
}

export interface Route extends Operation {
  readonly access: Access
  readonly handle: (desk: Desk, call: Call) => Promise<ServiceResponse | Refusal>
}

const OF_CHARTS = { access: 'key', security: ['apiKey'], tag: 'Charts' } as const
const OF_KEYS = { access: 'admin', security: ['adminSecret'], tag: 'API keys' } as const

const refusal = (description: string) => ({ description, schema: errorBody })
const NOT_FOUND = refusal('There is no such thing')
const OF_ALL = {
  400: refusal('The request is not understood'),
  401: refusal('No credential, or one that is not accepted here'),
  500: refusal('A failure of the service'),
  503: refusal('The database is busy'),
}

/** The headers of a picture. Their policy lets it use its own styles and load nothing. */
const SVG_HEADERS = {
  'content-type': 'image/svg+xml',
  'content-security-policy': "default-src 'none'; style-src 'unsafe-inline'",
}

const chartRoute = (path: string, more: Pick<Route, 'summary' | 'responses'> & Partial<Route>, show: Show): Route => ({
  method: 'GET',
  path: `/api/v1/charts/:chartKey${path}`,
  ...OF_CHARTS,
  params: chartParams,
  ...more,
  responses: { ...more.responses, ...OF_ALL, 404: NOT_FOUND },
  async handle({ library }, call) {
    const chart = library.find(call.params.chartKey ?? '')
    return chart === undefined ? refuse('not_found') : show(chart, call)
  },
})

type Show = (chart: Chart, call: Call) => ServiceResponse | Refusal

export const ROUTES: readonly Route[] = [
  {
    method: 'GET',
    path: '/api/v1/charts',
    ...OF_CHARTS,
    summary: 'List charts',
    query: listQuery,
    responses: { 200: { description: 'A page of charts', schema: listBody }, ...OF_ALL },
    handle: async ({ library }, { query }) => read(listQuery, query, (asked) => ({ body: listCharts(library, asked) })),
  },

  chartRoute(
    '',
    { summary: 'One chart', responses: { 200: { description: 'The chart with its note counts', schema: chartBody } } },
    (chart, { query }) => read(noQuery, query, () => ({ body: chartDetail(chart) })),
  ),

  chartRoute(
    '/notes',
    {
      summary: 'Notes of a chart',
      query: notesQuery,
      responses: { 200: { description: 'The notes in the order of their times', schema: notesBody } },
    },
    (chart, { query }) =>
      read(notesQuery, query, ({ from, to }) => ({ body: notesBetween(chart, from, to ?? Number.POSITIVE_INFINITY) })),
  ),

  chartRoute(
    '/maidata',
    {
      summary: 'The maidata.txt that the chart comes from',
      headers: z.object({
        'if-none-match': z.string().optional().meta({
          description: 'The `ETag` of the file that the client has: 304 if it is still that one.',
          example: '"NzQ2ZjZjNmM2NzYxNzQ2NQ=="',
        }),
      }),
      responses: {
        200: { description: 'All charts of the song in simai notation', schema: z.string(), contentType: 'text/plain' },
        304: { description: 'The file is still the one of If-None-Match' },
      },
    },
    (chart, { query, ifNoneMatch }) => read(noQuery, query, () => maidataOf(chart, ifNoneMatch)),
  ),

  chartRoute(
    '/preview.svg',
    {
      summary: 'A picture of the chart',
      description: 'A still frame at the time t; without t, how dense the notes are over the whole chart.',
      query: previewQuery,
      responses: {
        200: { description: 'The picture', schema: z.string(), contentType: 'image/svg+xml', example: PICTURE },
      },
    },
    (chart, { query }) =>
      read(previewQuery, query, ({ t, w }) => ({
        headers: SVG_HEADERS,
        body: t === undefined ? drawStrip(chart, w) : drawFrame(chart, t, w),
      })),
  ),

  {
    method: 'GET',
    path: '/api/v1/api-keys',
    ...OF_KEYS,
    summary: 'List API keys',
    responses: {
      200: { description: 'The keys that are in force, without the keys themselves', schema: keysBody },
      ...OF_ALL,
    },
    handle: async ({ keys }, { query }) => {
      const items = await keys.list()
      return read(noQuery, query, () => ({ body: { items } }))
    },
  },
  {
    method: 'POST',
    path: '/api/v1/api-keys',
    ...OF_KEYS,
    summary: 'Make an API key',
    body: newKey,
    bodyExample: { name: 'My App' },
    responses: {
      201: { description: 'The key, which is shown this once', schema: newKeyBody },
      ...OF_ALL,
      413: refusal('The body is too large'),
    },
    async handle({ keys }, { body }) {
      const { data, error } = newKey.safeParse(body)
      return data === undefined ? invalid(error) : { status: 201, body: await keys.create(data.name) }
    },
  },
  {
    method: 'DELETE',
    path: '/api/v1/api-keys/:id',
    ...OF_KEYS,
    summary: 'Revoke an API key',
    params: keyParams,
    responses: { 204: { description: 'The key is refused from now on' }, ...OF_ALL, 404: NOT_FOUND },
    handle: async ({ keys }, { params }) =>
      (await keys.revoke(params.id ?? '')) ? { status: 204 } : refuse('not_found'),
  },
]

/** The file of a chart, or 304 to a client that has it. */
function maidataOf({ file }: Chart, ifNoneMatch: string | undefined): ServiceResponse {
  const etag = `"${file.hash}"`
  const headers = { etag, 'cache-control': 'private, no-cache' }
  if (matches(ifNoneMatch, etag)) return { status: 304, headers }
  return { headers: { ...headers, 'content-type': 'text/plain; charset=utf-8' }, body: file.bytes }
}

/** RFC 9110, 13.1.2: a list of tags, which may be weak, or `*`. */
function matches(ifNoneMatch: string | undefined, etag: string): boolean {
  const tags = ifNoneMatch?.split(',').map((tag) => tag.trim().replace(/^W\//, '')) ?? []
  return tags.includes(etag) || tags.includes('*')
}

/** Carries out a query if it is valid, and refuses it otherwise. */
function read<T>(
  schema: z.ZodType<T>,
  query: Call['query'],
  show: (query: T) => ServiceResponse,
): ServiceResponse | Refusal {
  const { data, error } = schema.safeParse(withNumbers(query))
  return data === undefined ? invalid(error) : show(data)
}

/** Numbers in the form of JSON, so that each time that the API shows is valid in a query, and in short forms: `.5` and `5.` */
const NUMBER = /^-?(?:(?:0|[1-9]\d*)(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d+)?$/
/** The parameters that are numbers. All others are text, even where they look like numbers. */
const NUMBERS = new Set(['page', 'limit', 'difficulty', 'from', 'to', 't', 'w'])

function withNumbers(query: Call['query']): Record<string, unknown> {
  const entries = Object.entries(query)
  return Object.fromEntries(
    entries.map(([name, value]) => [
      name,
      NUMBERS.has(name) && typeof value === 'string' && NUMBER.test(value) ? Number(value) : value,
    ]),
  )
}

function invalid(error: z.ZodError | undefined): Refusal {
  return refuse('invalid_request', error?.issues.map(textOf).join('; '))
}

function textOf(issue: z.core.$ZodIssue): string {
  const { path, message } = issue
  if (issue.code === 'unrecognized_keys') return `${issue.keys.join(', ')}: unknown; leave it out`
  return path.length > 0 ? `${path.join('.')}: ${message}` : message
}
