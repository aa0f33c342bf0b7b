import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { startApp, startUpstream, yaml } from '../e2e/harness.ts'
import { bearer } from '../e2e/jwt.ts'
import { freePort } from '../setup/redis.ts'
import { blocksIn } from './blocks.ts'

const SECRET = `whsec_${Buffer.alloc(32, 3).toString('base64')}`
const receiver = blocksIn(readFileSync('docs/alerts.md', 'utf8')).find(({ file }) => file === 'receiver.mjs')?.text

test('the receiver of docs/alerts.md takes what the gateway sends, once, and refuses what others make up', async () => {
  // Within the project, where the library is found.
  const folder = join('node_modules/.cache', `receiver-${process.pid}`)
  mkdirSync(folder, { recursive: true })
  writeFileSync(join(folder, 'receiver.mjs'), receiver ?? '')
  const port = await freePort()
  const env = { ...process.env, PORT: String(port), HOOK_SECRET: SECRET }
  const child = spawn(process.execPath, [join(folder, 'receiver.mjs')], { env, stdio: ['ignore', 'pipe', 'inherit'] })
  let output = ''
  child.stdout.on('data', (chunk: Buffer) => {
    output += chunk
  })
  const upstream = await startUpstream()
  const url = `http://127.0.0.1:${port}/quota`
  const made = () => fetch(url, { method: 'POST', body: '{}' }).then(({ status }) => status)
  await expect.poll(() => made().catch(() => 0), { timeout: 60_000 }).toBe(401)
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
    await expect.poll(() => output, { timeout: 60_000 }).toBe('personal:alice near 0.8\n')
  } finally {
    await app.stop()
    await upstream.close()
    child.kill()
    await once(child, 'close')
    rmSync(folder, { recursive: true })
  }
})
