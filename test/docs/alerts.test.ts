import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import http from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { startApp, startUpstream, yaml } from '../e2e/harness.ts'
import { bearer } from '../e2e/jwt.ts'
import { freePort } from '../setup/redis.ts'
import { blocksIn } from './blocks.ts'

const SECRET = `whsec_${Buffer.alloc(32, 3).toString('base64')}`
const SOON = { timeout: 60_000 }
const CACHE = 'node_modules/.cache'
const receiver = blocksIn(readFileSync('docs/alerts.md', 'utf8')).find(({ file }) => file === 'receiver.mjs')?.text

/** Lets the receiver of the page take what a gateway sends for alice, until it has written `expected`. */
async function receive(
  env: Readonly<Record<string, string>>,
  written: (output: string) => unknown,
  expected: unknown,
): Promise<void> {
  // Within the project, where the library is found.
  mkdirSync(CACHE, { recursive: true })
  const folder = mkdtempSync(join(CACHE, 'receiver-'))
  writeFileSync(join(folder, 'receiver.mjs'), receiver ?? '')
  const port = await freePort()
  const child = spawn(process.execPath, [join(folder, 'receiver.mjs')], {
    env: { ...process.env, PORT: String(port), HOOK_SECRET: SECRET, ...env },
    stdio: ['ignore', 'pipe', 'ignore'],
  })
  let output = ''
  child.stdout.on('data', (chunk: Buffer) => {
    output += chunk
  })
  const upstream = await startUpstream()
  const url = `http://127.0.0.1:${port}/quota`
  const made = () => fetch(url, { method: 'POST', body: '{}' }).then(({ status }) => status)
  await expect.poll(() => made().catch(() => 0), SOON).toBe(401)
  const app = await startApp(
    yaml(
      upstream.url,
      `quota: { baselines: { personal: { read: { 1h: 5 } }, global: { read: { 1h: 100 } } } }
routes: [{ match: "GET /*", category: read }]
alerts: [{ name: near, scope: personal, category: read, window: 1h, at: [80%], webhook: { url: "${url}", secret: "${SECRET}" } }]`,
    ),
  )
  try {
    for (let i = 0; i < 5; i++) await (await fetch(`${app.url}/x`, { headers: bearer('alice') })).arrayBuffer()
    await expect.poll(() => written(output), SOON).toEqual(expected)
  } finally {
    child.kill()
    await once(child, 'close')
    rmSync(folder, { recursive: true })
  }
}

test('the receiver of docs/alerts.md takes what the gateway sends, once, and refuses what others make up', () =>
  receive({}, (output) => output, 'personal:alice near 0.8\n'))

test('the receiver of docs/alerts.md writes to a chat, and again later if the chat was out of order', async () => {
  const asked: unknown[] = []
  const chat = http.createServer(async (request, response) => {
    let body = ''
    for await (const chunk of request) body += chunk
    asked.push(JSON.parse(body))
    response.writeHead(asked.length === 1 ? 500 : 200).end()
  })
  await once(chat.listen(0, '127.0.0.1'), 'listening')
  const CHAT_URL = `http://127.0.0.1:${(chat.address() as AddressInfo).port}/services/T0/B0/x`
  const message = { text: 'personal:alice near 0.8' }
  await receive({ CHAT_URL }, () => asked, [message, message])
  chat.close()
})
