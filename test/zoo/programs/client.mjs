/**
 * The clients of Node. Arguments: the library, and the folder of node_modules that has it. Each line of the input is `SHAPE URL`, and
 * gets one line of JSON.
 */
import { once } from 'node:events'
import { createRequire } from 'node:module'
import { createInterface } from 'node:readline'
import { Readable } from 'node:stream'
import { pathToFileURL } from 'node:url'

const [library, folder] = process.argv.slice(2)
const require = createRequire(`${folder}/none.js`)
const load = async (name) => await import(pathToFileURL(require.resolve(name)).href)

const LARGE = Buffer.alloc(3_000_000, 'x')
const EARLY = Buffer.alloc(1_000_000, 'x')
const pieces = () => Readable.from([Buffer.from('he'), Buffer.from('llo')])

/** What each shape asks for. */
function requestOf(shape) {
  return {
    chunked: { method: 'POST', path: '/echo', stream: pieces },
    large: { method: 'POST', path: '/echo', body: LARGE },
    early: { method: 'POST', path: '/early', body: EARLY },
    head: { method: 'HEAD', path: '/hello' },
    range: { method: 'GET', path: '/range', headers: { range: 'bytes=10-19' } },
    sse: { method: 'GET', path: '/events' },
    keepalive: { method: 'GET', path: '/hello' },
  }[shape]
}

const CLIENTS = {
  async undici() {
    const { Agent, request, WebSocket } = await load('undici')
    return async (shape, url) => {
      if (shape === 'ws') return await chat(new WebSocket(`${url.replace('http', 'ws')}/ws`))
      const dispatcher = new Agent()
      return await times(shape, async ({ method, path, body, stream, headers }) => {
        const reply = await request(url + path, { method, headers, body: stream?.() ?? body, dispatcher })
        return { status: reply.statusCode, body: await reply.body.text() }
      }).finally(() => dispatcher.destroy())
    }
  },
  async axios() {
    const { default: axios } = await load('axios')
    const http = await import('node:http')
    return async (shape, url) => {
      const httpAgent = new http.Agent({ keepAlive: true })
      const client = axios.create({ httpAgent, validateStatus: null, responseType: 'text', maxRedirects: 0 })
      return await times(shape, async ({ method, path, body, stream, headers }) => {
        const reply = await client.request({ method, url: url + path, headers, data: stream?.() ?? body })
        return { status: reply.status, body: reply.data }
      }).finally(() => httpAgent.destroy())
    }
  },
  async got() {
    const { default: got } = await load('got')
    const http = await import('node:http')
    return async (shape, url) => {
      const agent = { http: new http.Agent({ keepAlive: true }) }
      return await times(shape, async ({ method, path, body, stream, headers }) => {
        const options = {
          method,
          headers,
          body: stream?.() ?? body,
          agent,
          throwHttpErrors: false,
          retry: { limit: 0 },
        }
        const reply = await got(url + path, options)
        return { status: reply.statusCode, body: reply.body }
      }).finally(() => agent.http.destroy())
    }
  },
  async ws() {
    const { default: WebSocket } = await load('ws')
    return async (_shape, url) => await chat(new WebSocket(`${url.replace('http', 'ws')}/ws`))
  },
}

async function times(shape, ask) {
  let last
  for (let n = shape === 'keepalive' ? 5 : 1; n > 0; n--) last = await ask(requestOf(shape))
  return last
}

async function chat(socket) {
  const failed = once(socket, 'error').then(([error]) => Promise.reject(error.error ?? error))
  await Promise.race([new Promise((open) => socket.addEventListener('open', open)), failed])
  socket.send('hi')
  const message = new Promise((resolve) => socket.addEventListener('message', ({ data }) => resolve(data)))
  const body = await Promise.race([message, failed])
  failed.catch(() => {})
  socket.close()
  return { status: 101, body: String(body) }
}

const ask = await CLIENTS[library]()
for await (const line of createInterface({ input: process.stdin })) {
  const said = await ask(...line.split(' ')).catch((error) => ({
    error: `${error.code ?? ''} ${error.message}`.slice(0, 300),
  }))
  if (said.body !== undefined) said.body = String(said.body).slice(0, 200)
  console.log(JSON.stringify(said))
}
