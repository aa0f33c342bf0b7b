import { Agent, createServer } from 'node:http'
import { createProxyServer } from 'http-proxy-3'

/** The plainest proxy that http-proxy-3 makes: no credential, no quota, no log. Arguments: port, port of the backend. */
const [port, backend] = process.argv.slice(2).map(Number)

// Without an agent it opens a connection for each request, which would flatter every comparison.
const agent = new Agent({ keepAlive: true, maxSockets: 256 })
const proxy = createProxyServer({ target: `http://127.0.0.1:${backend}`, agent })

createServer((request, response) => {
  proxy.web(request, response, {}, () => response.writeHead(502).end())
}).listen(port, '127.0.0.1')
