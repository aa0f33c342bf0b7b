import http from 'node:http'
import { beforeAll, expect, it } from 'vitest'
import { MODEL_STREAMS } from '../gateway/model-streams.ts'
import { ask } from './ask.ts'
import { type RunningGuide, startGuide } from './page.ts'
import { type Service, started } from './service.ts'

/** docs/guides/llm-api.md */

const STREAM = MODEL_STREAMS[0]?.body as Buffer
const seen: http.IncomingHttpHeaders[] = []
let service: Service
let guide: RunningGuide

/** What OpenAI and vLLM document: a stream says its usage if it is asked to. */
function respond(req: http.IncomingMessage, res: http.ServerResponse): void {
  seen.push(req.headers)
  const { silent, stream } = Object.fromEntries(new URL(req.url ?? '', 'http://a').searchParams)
  if (req.url === '/v1/models') res.end('{"object":"list","data":[]}')
  else if (silent) res.setHeader('Content-Type', 'text/event-stream').end('data: {"choices":[]}\n\ndata: [DONE]\n\n')
  else if (stream) res.setHeader('Content-Type', 'text/event-stream').end(STREAM)
  else if (req.headers['x-denied']) res.writeHead(400).end('{"error":{}}')
  else
    res.setHeader('Content-Type', 'application/json').end('{"usage":{"prompt_tokens":3000,"completion_tokens":2000}}')
}

beforeAll(async () => {
  service = await started(http.createServer(respond).listen(0, '127.0.0.1'))
  guide = await startGuide('llm-api', { upstream: service.port, env: { MODEL_API_KEY: 'key-of-the-model' } })
})

async function chat(key: string, query = '', headers = {}): Promise<Awaited<ReturnType<typeof ask>>> {
  const all = { authorization: `Bearer ${key}`, 'accept-encoding': 'gzip', ...headers }
  return ask(guide.door, { method: 'POST', path: `/v1/chat/completions${query}`, headers: all })
}

async function used(key: string, category: string): Promise<number> {
  const { text } = await ask(guide.door, { path: '/me/quota', headers: { authorization: `Bearer ${key}` } })
  return JSON.parse(text).windows[category][0].used
}

it('a stream, a whole response, a denial and a stream without usage of the model cost what the page says', async () => {
  const key = await guide.keyOf('alice')
  const costs: number[] = []
  let before = 0
  for (const [query, headers] of [['?stream=1'], [''], ['', { 'x-denied': '1' }], ['?silent=1']] as const) {
    const { text } = await chat(key, query, headers)
    if (query === '?stream=1') expect(text).toBe(STREAM.toString())
    await expect.poll(() => guide.users().length).toBe(costs.length * 2 + 1)
    const now = await used(key, 'tokens')
    costs.push(now - before)
    before = now
  }
  expect(costs).toEqual([59, 11_000, 0, 2000])
  expect(await used(key, 'requests')).toBe(4)
})

it('the head of a whole response says what the request cost in both budgets', async () => {
  const { headers } = await chat(await guide.keyOf('dora'))
  expect(headers['x-tollgate-charged']).toBe('requests=1, tokens=11000')
})

it('a request that its budget of model tokens refuses is not counted in that of requests', async () => {
  const key = await guide.keyOf('emil')
  for (let i = 0; i < 9; i++) {
    await chat(key)
    await expect.poll(() => used(key, 'tokens')).toBe((i + 1) * 11_000)
  }
  expect(JSON.parse((await chat(key)).text)).toMatchObject({ quota: { category: 'tokens', window: '1h' } })
  expect(await used(key, 'requests')).toBe(9)
})

it('the model sees its own key, and nothing asks it to compress', async () => {
  const key = await guide.keyOf('berta')
  seen.length = 0
  await chat(key, '?stream=1')
  expect(seen).toMatchObject([{ authorization: 'Bearer key-of-the-model', 'x-tollgate-user': 'berta' }])
  expect(seen[0]).not.toHaveProperty('accept-encoding')
  expect(JSON.stringify(seen)).not.toContain(key)
})

it('the budget of model tokens ends with a 429, and other requests have their own', async () => {
  const key = await guide.keyOf('carl')
  const statuses: number[] = []
  for (let i = 0; i < 10; i++) {
    statuses.push((await chat(key)).status)
    await expect.poll(() => used(key, 'tokens')).toBe(Math.min(9, i + 1) * 11_000)
  }
  expect(statuses).toEqual([...Array.from({ length: 9 }, () => 200), 429])
  expect((await ask(guide.door, { path: '/v1/models', headers: { authorization: `Bearer ${key}` } })).status).toBe(200)
  expect((await chat('gw_made-up')).status).toBe(401)
})
