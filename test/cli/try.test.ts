import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { connect } from 'node:net'
import { join, resolve } from 'node:path'
import { text } from 'node:stream/consumers'
import { afterEach, beforeAll, beforeEach, expect, test, vi } from 'vitest'
import { tryOut } from '../../src/cli/try.ts'
import { tempFolder } from '../setup/at-end.ts'
import { listening } from '../setup/listening.ts'
import { wrongCall } from './wrong-call.ts'

/** `tollgate try` in front of a service, as somebody runs it who has just met it. */

const SOON = { timeout: 60_000, interval: 25 }
const MAIN = resolve('src/main.ts')

/** For the key of RFC 6455, section 1.3. */
const SWITCHED =
  'HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n\r\n'

let upstream: string
beforeAll(async () => {
  const service = createServer(({ method, url, headers }, response) => {
    response.end(`${method} ${url} ${headers.authorization ?? 'nobody'}`)
  }).on('upgrade', (_, socket) => {
    socket.on('error', () => {}).write(SWITCHED)
  })
  upstream = `http://127.0.0.1:${await listening(service)}`
})

let folder: string
let children: ChildProcess[]
beforeEach(() => {
  folder = tempFolder()
  children = []
})
afterEach(async () => {
  for (const child of children.filter(({ exitCode, signalCode }) => exitCode === null && signalCode === null)) {
    child.kill('SIGKILL')
    await once(child, 'close')
  }
})

interface Trial {
  readonly child: ChildProcess
  output(): string
  /** The address of the gateway, once it has told it. */
  readonly gateway: string
  readonly link: URL
  /** Its exit code. */
  readonly ended: Promise<number | null>
}

/** @param terminal whether it runs at a terminal of its own @param service its URL */
async function startTrial({ terminal = false, service = upstream } = {}): Promise<Trial> {
  const args = [MAIN, 'try', service, '--listen', '127.0.0.1:0', '--admin', '127.0.0.1:0']
  const [program, programArgs]: [string, string[]] = terminal
    ? ['script', ['-qec', `exec ${[process.execPath, ...args].join(' ')}`, '/dev/null']]
    : [process.execPath, args]
  const child = spawn(program, programArgs, { cwd: folder, env: { ...process.env, TMPDIR: folder } })
  children.push(child)
  let output = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (chunk: Buffer) => {
      output += chunk.toString()
    })
  }
  const ended = once(child, 'close').then(([code]) => code as number | null)
  await vi.waitUntil(() => output.includes('Press Ctrl-C') || child.exitCode !== null, SOON)
  const [gateway, link] = output.match(/http:\/\/127\.0\.0\.1:\d+\S*/g)?.slice(1) ?? []
  if (gateway === undefined || link === undefined) throw new Error(output)
  return { child, output: () => output, gateway, link: new URL(link), ended }
}

async function get(url: string, authorization?: string, method = 'GET'): Promise<string> {
  const response = await fetch(url, { method, headers: { ...(authorization && { authorization }) } })
  return `${response.status} ${await response.text()}`
}

/** @returns what the gateway sends for bytes that are no request for it */
async function responseTo(gateway: string, bytes: string): Promise<string> {
  const { hostname, port } = new URL(gateway)
  const socket = connect({ host: hostname, port: Number(port) })
  socket.write(bytes)
  return text(socket)
}

const signIn = ({ origin, hash }: URL): Promise<Response> =>
  fetch(`${origin}/api/session`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ code: new URLSearchParams(hash.slice(hash.indexOf('?'))).get('code') }),
  })

test('tollgate try refuses nothing, shows who asked, and prints the command for a configuration when it ends', async () => {
  const trial = await startTrial()
  expect(await get(`${trial.gateway}//a%2Fb;c?x=1`)).toBe('200 GET //a%2Fb;c?x=1 nobody')
  // The default limit is 60 in an hour.
  for (let n = 0; n < 61; n++) {
    expect(await get(`${trial.gateway}/items/${n}`, 'Bearer somebody', 'POST')).toBe(
      `200 POST /items/${n} Bearer somebody`,
    )
  }
  const jwt = (signature: string) =>
    `Bearer ${Buffer.from('{}').toString('base64url')}.${Buffer.from('{"sub":"ann"}').toString('base64url')}.${signature}`
  for (const signature of ['a', 'b']) await get(`${trial.gateway}/items/1`, jwt(signature))
  const session = await signIn(trial.link)
  expect(session.status).toBe(200)
  const headers = { cookie: session.headers.getSetCookie()[0]?.split(';')[0] ?? '' }
  const users = await (await fetch(`${trial.link.origin}/api/users`, { headers })).json()
  const names = (users as { users: { user: string }[] }).users.map(({ user }) => user).sort()
  expect(names).toEqual([expect.stringMatching(/^address:/), expect.stringMatching(/^key:[\w-]{43}$/), 'key:jwt:ann'])
  expect((await signIn(trial.link)).status).toBe(401)

  trial.child.kill('SIGINT')
  expect(await trial.ended).toBe(0)
  const command = /tollgate (suggest .*)$/m.exec(trial.output())?.[1]?.trim().split(' ') ?? []
  expect(command.slice(0, 2)).toEqual(['suggest', '--log'])
  const suggested = spawn(process.execPath, [MAIN, ...command], { cwd: folder, stdio: 'inherit' })
  expect(await once(suggested, 'close')).toEqual([0, null])
  const text = readFileSync(join(folder, 'tollgate.yaml'), 'utf8')
  expect(text).toContain(upstream)
  expect(text).toContain('match: POST /items/:id')
  const checked = spawn(process.execPath, [MAIN, 'check'], { cwd: folder, stdio: ['ignore', 'ignore', 'pipe'] })
  let problems = ''
  checked.stderr.on('data', (chunk: Buffer) => {
    problems += chunk.toString()
  })
  expect([await once(checked, 'close'), problems]).toEqual([
    [0, null],
    expect.stringMatching(/^\S+ auth\.shadow: warning: .*\n$/),
  ])
})

test('tollgate try writes the configuration if somebody at the terminal wants it, and leaves nothing else behind', async () => {
  for (const name of ['tollgate.yaml', 'tollgate.suggested.yaml']) writeFileSync(join(folder, name), '')
  const trial = await startTrial({ terminal: true })
  await get(`${trial.gateway}/items/1`)
  trial.child.stdin?.write('\x03')
  await vi.waitUntil(
    () => trial.output().includes('Write tollgate.suggested-2.yaml from the requests (1)? [Y/n]'),
    SOON,
  )
  trial.child.stdin?.write('y\n')
  expect(await trial.ended).toBe(0)
  expect(trial.output()).toMatch(
    /Next: read in tollgate\.suggested-2\.yaml who vouches for callers \(auth\) and where clients connect \(listen\), then:\s+tollgate check/,
  )
  expect(readdirSync(folder).sort()).toEqual(['tollgate.suggested-2.yaml', 'tollgate.suggested.yaml', 'tollgate.yaml'])
})

test('tollgate try leaves nothing behind where no request came', async () => {
  const trial = await startTrial()
  trial.child.kill('SIGTERM')
  expect(await trial.ended).toBe(0)
  expect(trial.output()).toContain('No request came, so no configuration is suggested.')
  expect(readdirSync(folder)).toEqual([])
})

test('tollgate try says what came if the service responded to nothing', async () => {
  const trial = await startTrial({ service: 'http://127.0.0.1:1' })
  for (let n = 0; n < 2; n++) expect(await get(`${trial.gateway}/items/${n}`)).toMatch(/^502 /)
  expect(await get(`${trial.gateway}/me/quota`)).toMatch(/^200 /)
  expect(await responseTo(trial.gateway, 'nonsense\r\n\r\n')).toMatch(/^HTTP\/1.1 400 /)
  trial.child.kill('SIGTERM')
  expect(await trial.ended).toBe(0)
  const said = trial.output()
  expect(said).toContain('4 requests came and got no response of the service, so no configuration is suggested:\n')
  expect(said).toContain('\n  2 got 502: http://127.0.0.1:1 cannot be reached (connect ECONNREFUSED 127.0.0.1:1)\n')
  expect(said).toContain('\n  1 got 200: the gateway has this path for itself\n')
  expect(said).toMatch(/\n {2}1 got 400: the gateway refused it, bad_request/)
  expect(readdirSync(folder)).toEqual([])
})

test('tollgate try counts a WebSocket that is open when it ends', async () => {
  const trial = await startTrial()
  const { hostname, port } = new URL(trial.gateway)
  const socket = connect({ host: hostname, port: Number(port) }).on('error', () => {})
  socket.write(
    'GET /live HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n',
  )
  expect(String((await once(socket, 'data'))[0])).toMatch(/^HTTP\/1.1 101 /)
  trial.child.kill('SIGTERM')
  expect(await trial.ended).toBe(0)
  expect(trial.output()).toMatch(/\nThe requests \(1\) are in /)
})

test('tollgate try says what is wrong with a call', async () => {
  expect(await wrongCall(tryOut([]))).toBe('try needs the URL of one service: tollgate try http://localhost:3000')
  expect(await wrongCall(tryOut(['localhost']))).toMatch(/^the URL of the service is not an http or https URL/)
  expect(await wrongCall(tryOut(['http://jo:hunter2@localhost']))).not.toContain('hunter2')
  expect(await wrongCall(tryOut([upstream, '--listen', 'nowhere']))).toMatch(/^--listen /)
})
