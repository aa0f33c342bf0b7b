import { randomUUID } from 'node:crypto'
import { Agent, createServer } from 'node:http'
import { createProxyServer } from 'http-proxy-3'
import { destination, pino } from 'pino'

/**
 * The plainest proxy of http-proxy-3: no credential, no quota. Arguments: port, port of the upstream, and optionally the file of
 * its access log.
 */
const [port, upstream, file] = process.argv.slice(2)

// Without an agent http-proxy-3 would open a connection for each request, which would flatter every comparison.
const agent = new Agent({ keepAlive: true, maxSockets: 256 })
const proxy = createProxyServer({ target: `http://127.0.0.1:${upstream}`, agent })
// pino measures its buffer at each line, so the 64 KB of the other proxies would make each line more expensive.
const log = file === undefined ? null : pino(destination({ dest: file, minLength: 4096, sync: false }))

createServer((request, response) => {
  if (log !== null) {
    const startedAt = performance.now()
    response.once('finish', () => {
      const { method, url } = request
      const durationMs = performance.now() - startedAt
      log.info({ requestId: randomUUID(), method, route: url, httpStatus: response.statusCode, durationMs }, 'request')
    })
  }
  proxy.web(request, response, {}, () => response.writeHead(502).end())
}).listen(Number(port), '127.0.0.1')
