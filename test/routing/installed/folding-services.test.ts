import { spawnSync } from 'node:child_process'
import http, { type RequestListener, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import express5 from 'express'
import express4 from 'express4'
import { describe, test } from 'vitest'
import { listening } from '../../setup/listening.ts'
import { startNginx } from '../../setup/nginx.ts'
import { expectNoCheaperSpelling, run, type Service } from '../spellings.ts'

/**
 * Real services say which spellings are a path that is dear. With `edge.match` as the service needs it none of them may cost less, and
 * without it some do, if the service folds.
 */

const says = (text: string) => (_req: unknown, res: ServerResponse) => res.end(text)

function expressApp(express: typeof express5, ...settings: ('strict routing' | 'case sensitive routing')[]) {
  const app = express()
  for (const setting of settings) app.enable(setting)
  app.all('/v1/kiss', says('dear'))
  app.all('/v1/user/:id/pay', says('dear'))
  app.use(says('other'))
  return app
}

async function listen(listener: RequestListener) {
  const server = http.createServer(listener)
  await listening(server)
  const stop = async () => {
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
  }
  return { port: (server.address() as AddressInfo).port, stop }
}

const FILES = join(import.meta.dirname, '..', 'services')
/** Not on every machine. */
const WERKZEUG = spawnSync('python3', ['-c', 'import werkzeug.routing, werkzeug.serving']).status === 0
const BOTH = { case: 'fold', trailing_slash: 'ignore' } as const

const nginxServer = (kiss: string, pay: string) =>
  `default_type text/plain; location ${kiss} { return 200 dear; } location ${pay} { return 200 dear; } location / { return 200 other; }`

const OF_WERKZEUG: readonly Service[] = [
  { name: 'Werkzeug', match: {}, start: () => run('python3', join(FILES, 'service.py'), 'slashes') },
  {
    name: 'Werkzeug without strict slashes',
    match: { trailing_slash: 'ignore' },
    start: () => run('python3', join(FILES, 'service.py'), 'no-slashes'),
  },
]

const SERVICES: readonly Service[] = [
  ...([['Express 4', express4] as const, ['Express 5', express5] as const].flatMap(([name, express]) => [
    { name, match: BOTH, start: () => listen(expressApp(express)) },
    { name: `${name}, strict`, match: { case: 'fold' }, start: () => listen(expressApp(express, 'strict routing')) },
    {
      name: `${name}, case sensitive`,
      match: { trailing_slash: 'ignore' },
      start: () => listen(expressApp(express, 'case sensitive routing')),
    },
    {
      name: `${name}, strict and case sensitive`,
      match: {},
      start: () => listen(expressApp(express, 'strict routing', 'case sensitive routing')),
    },
  ]) as Service[]),
  {
    name: 'nginx with exact locations',
    match: {},
    start: () => startNginx(nginxServer('= /v1/kiss', '~ ^/v1/user/[^/]+/pay$')),
  },
  {
    name: 'nginx with expressions that ignore case and slash',
    match: BOTH,
    start: () => startNginx(nginxServer('~* ^/v1/kiss/?$', '~* ^/v1/user/[^/]+/pay/?$')),
  },
  ...(WERKZEUG ? OF_WERKZEUG : []),
]

describe.each(SERVICES)('$name', (service) => {
  test('takes no spelling for a dear path that costs less', async () => {
    await expectNoCheaperSpelling(service)
  })
})
