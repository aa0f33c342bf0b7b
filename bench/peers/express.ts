import { Agent, createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import express from 'express'
import { createProxyServer } from 'http-proxy-3'
import { Redis } from 'ioredis'

/**
 * Express with express-rate-limit, which counts in Redis, in front of http-proxy-3. Arguments: port, port of the upstream, port of Redis,
 * and the folder of modules that has the limiter.
 */
const [port, upstream, redisPort, modules = ''] = process.argv.slice(2)

/** What is used of the packages, which are no dependencies of this one. */
interface Limiter {
  rateLimit(options: object): (request: IncomingMessage, response: ServerResponse, next: () => void) => void
}
interface RedisStores {
  RedisStore: new (options: { sendCommand(command: string, ...rest: string[]): Promise<unknown> }) => object
}

const load = createRequire(join(modules, 'of-the-limiter.js'))
const { rateLimit } = load('express-rate-limit') as Limiter
const { RedisStore } = load('rate-limit-redis') as RedisStores

const redis = new Redis(Number(redisPort), '127.0.0.1')
const agent = new Agent({ keepAlive: true, maxSockets: 256 })
const proxy = createProxyServer({ target: `http://127.0.0.1:${upstream}`, agent })

const limiter = rateLimit({
  windowMs: 3_600_000,
  limit: 1_000_000_000,
  standardHeaders: 'draft-8',
  legacyHeaders: false,
  keyGenerator: ({ headers }: IncomingMessage) => headers.authorization ?? '',
  store: new RedisStore({ sendCommand: (command, ...rest) => redis.call(command, ...rest) }),
})

const app = express()
app.use((asked, response) => {
  const request = asked as IncomingMessage
  limiter(request, response, () => proxy.web(request, response, {}, () => response.writeHead(502).end()))
})
createServer(app).listen(Number(port), '127.0.0.1')
