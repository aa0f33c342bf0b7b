import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { exportJWK, generateKeyPair, SignJWT } from 'jose'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { blocksIn } from '../../docs/blocks.ts'
import { guideTool } from '../../setup/guides-tools.ts'
import { accepts, freePort } from '../../setup/redis.ts'
import { ask } from '../ask.ts'
import { type RunningGuide, startGuide } from '../page.ts'
import { askEverything } from '../questions.ts'

/** docs/guides/spring-boot.md, with Spring Boot in Tomcat. */

interface Service {
  readonly port: number
  stop(): Promise<void>
}

/** With the properties of the page. */
async function startSpring(): Promise<Service> {
  const port = await freePort()
  const folder = mkdtempSync(join(tmpdir(), 'tollgate-spring-'))
  const page = readFileSync('docs/guides/spring-boot.md', 'utf8')
  const { text } = blocksIn(page).find(({ language }) => language === 'properties') ?? { text: '' }
  writeFileSync(join(folder, 'application.properties'), `${text}server.port=${port}\n`)
  // It runs for seconds only: the better compiler would take them.
  const args = ['-XX:TieredStopAtLevel=1', '-jar', guideTool('spring')]
  const child = spawn('java', args, { cwd: folder, stdio: ['ignore', 'ignore', 'inherit'] })
  const exited = once(child, 'exit')
  for (let tries = 0; !(await accepts(port)); tries++) {
    if (child.exitCode !== null || tries > 4000) throw new Error(`Spring Boot did not start: ${child.exitCode}`)
    await sleep(25)
  }
  return {
    port,
    stop: async () => {
      child.kill('SIGTERM')
      await exited
      rmSync(folder, { recursive: true })
    },
  }
}

let service: Service
let guide: RunningGuide
const tokens = new Map<string, string>()
const as = (user: string) => ({ headers: { authorization: `Bearer ${tokens.get(user)}` } })

beforeAll(async () => {
  service = await startSpring()
  const { privateKey, publicKey } = await generateKeyPair('ES256')
  const jwks = JSON.stringify({ keys: [{ ...(await exportJWK(publicKey)), kid: '1', alg: 'ES256', use: 'sig' }] })
  const users = ['alice', 'berta', 'carl', 'dora', 'emil', ...Array.from({ length: 40 }, (_, i) => `speller-${i}`)]
  for (const user of users) {
    const token = new SignJWT({ iss: 'https://id.example.org', aud: 'shop', sub: user })
    const signed = token.setProtectedHeader({ alg: 'ES256', kid: '1' }).setExpirationTime('1h')
    tokens.set(user, await signed.sign(privateKey))
  }
  const also = [[['auth', 'jwt', 0, 'jwks'], 'file:jwks.json']] as const
  guide = await startGuide('spring-boot', { upstream: service.port, files: { 'jwks.json': jwks }, also })
})
afterAll(async () => {
  await guide.stop()
  await service.stop()
})

askEverything(() => ({ door: guide.door, as, known: (user) => user, spellings: ['/v1/%63harge', '/v1/charge?a=b'] }))

it('tells Spring the address of the client, and passes the credential', async () => {
  const { text } = await ask(guide.door, { path: '/v1/items', ...as('emil'), from: '127.0.0.9' })
  expect(JSON.parse(text)).toMatchObject({ address: '127.0.0.9' })
  expect(JSON.parse(text).fields).toContain('authorization')
})

it('refuses matrix parameters, which Spring would drop', async () => {
  const options = { port: service.port, origin: 'http://shop.example.org' }
  expect((await ask(options, { method: 'POST', path: '/v1/charge;a=b' })).text).toBe('charged')
  expect((await ask(guide.door, { method: 'POST', path: '/v1/charge;a=b', ...as('emil') })).status).toBe(400)
})
