import { execFile } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import https from 'node:https'
import net from 'node:net'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { beforeAll, describe, expect, test } from 'vitest'
import { type RunningApp, startApp, yaml } from '../e2e/harness.ts'
import { tempFolder } from '../setup/at-end.ts'
import { listening } from '../setup/listening.ts'
import { makeCa, makeCertificate } from '../setup/openssl.ts'
import { packagesOf } from '../setup/packages.ts'
import { freePort } from '../setup/redis.ts'

const run = promisify(execFile)

let app: RunningApp
let port: string
const folder = tempFolder()
beforeAll(async () => {
  app = await startApp(yaml('http://127.0.0.1:1', ''))
  port = new URL(app.admin).port
})

/** @returns exit code and what was said, in one line */
async function healthcheck(text: string, env: Record<string, string> = {}): Promise<[number, string]> {
  const file = join(folder, 'tollgate.yaml')
  writeFileSync(file, text)
  const child = run(process.execPath, ['src/main.ts', 'healthcheck', '-c', file], { env: { ...process.env, ...env } })
  const { code, stdout, stderr } = await child.then(
    (said) => ({ code: 0, ...said }),
    (error: { code: number; stdout: string; stderr: string }) => error,
  )
  return [code, (stdout + stderr).replaceAll(file, 'FILE').trimEnd()]
}

const admin = (listen: string) => `upstream: { url: "http://127.0.0.1:1" }\nadmin: { listen: "${listen}" }\n`

describe('tollgate healthcheck', () => {
  test.each(['127.0.0.1', 'localhost', '0.0.0.0'])('a gateway that listens on %s is alive', async (host) => {
    const asked = host === '0.0.0.0' ? '127.0.0.1' : host
    expect(await healthcheck(admin(`${host}:${port}`))).toEqual([0, `alive: http://${asked}:${port}/livez`])
  })

  test('a gateway whose file went wrong meanwhile is still alive, since it goes on with what it had', async () => {
    const text = `${admin(`127.0.0.1:${port}`)}routes: [{ match: nonsense }]\nunknown: \${UNSET}\n`
    expect(await healthcheck(text)).toEqual([0, `alive: http://127.0.0.1:${port}/livez`])
  })

  test('the address may come from the environment', async () => {
    const text = `admin: { listen: "127.0.0.1:\${ADMIN_PORT}" }`
    expect(await healthcheck(text, { ADMIN_PORT: port })).toEqual([0, `alive: http://127.0.0.1:${port}/livez`])
  })

  test('a gateway that speaks TLS is asked by TLS, whatever names its certificate has', async () => {
    const ca = makeCa(folder, 'ca')
    const { certFile, keyFile } = makeCertificate(folder, 'admin', ca, 'DNS:gateway.example.org')
    const server = https.createServer({ cert: readFileSync(certFile), key: readFileSync(keyFile) }, (req, res) => {
      res.writeHead(req.url === '/livez' ? 200 : 404).end()
    })
    const port = await listening(server)
    const text = `admin: { listen: "127.0.0.1:${port}", tls: { cert: "${certFile}", key: "${keyFile}" } }`
    expect(await healthcheck(text)).toEqual([0, `alive: https://127.0.0.1:${port}/livez`])
  })

  test.each(['::1', '::'])('a gateway that is not there is not alive, with the reason: %s', async (host) => {
    const none = await freePort()
    const [code, said] = await healthcheck(admin(`[${host}]:${none}`))
    expect([code, said.split(/: connect /)[0]]).toEqual([1, `not alive: http://[::1]:${none}/livez`])
    expect(said).toMatch(
      /connect E\w+.*; a gateway whose admin\.listen was changed has the one before until it is restarted$/,
    )
  })

  test('a file that does not say the address leads to the default, and a word about it', async () => {
    const [, said] = await healthcheck('admin: [')
    expect(said).toContain('http://127.0.0.1:9090/livez, the default, since FILE does not tell admin.listen')
  })

  test('a file that is not there is reported as missing, beside what came of the default', async () => {
    const missing = run(process.execPath, ['src/main.ts', 'healthcheck', '-c', join(folder, 'nope.yaml')])
    const { stdout, stderr } = await missing.catch((error: { stdout: string; stderr: string }) => error)
    expect(stdout + stderr).toContain(
      `http://127.0.0.1:9090/livez, the default, since the configuration file ${join(folder, 'nope.yaml')} is missing`,
    )
  })

  test.each([
    ['an answer that never comes', '', 'no answer within 2 seconds'],
    ['a redirect', 'HTTP/1.1 302 Found\r\nlocation: /\r\ncontent-length: 0\r\n\r\n', 'status 302'],
    ['an answer of another status', 'HTTP/1.1 503 Service Unavailable\r\ncontent-length: 0\r\n\r\n', 'status 503'],
  ])('%s is not alive', async (_, response, reason) => {
    const server = net.createServer((socket) => socket.on('error', () => {}).write(response))
    const port = await listening(server)
    expect(await healthcheck(admin(`127.0.0.1:${port}`))).toEqual([
      1,
      `not alive: http://127.0.0.1:${port}/livez: ${reason}`,
    ])
  })

  test('the head of a response is enough, and its end is not waited for', async () => {
    let openMs = Number.NaN
    const server = net.createServer((socket) => {
      const since = performance.now()
      socket
        .on('error', () => {})
        .once('close', () => {
          openMs = performance.now() - since
        })
      socket.resume().write('HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\n')
    })
    const port = await listening(server)
    expect(await healthcheck(admin(`127.0.0.1:${port}`))).toEqual([0, `alive: http://127.0.0.1:${port}/livez`])
    await expect.poll(() => openMs).toBeLessThan(1500)
  })
})

test('the command loads what reads the address and no more, since it runs in the memory that the gateway was given', () => {
  expect(packagesOf('src/cli/healthcheck.ts').sort()).toEqual(['yaml', 'zod'])
})
