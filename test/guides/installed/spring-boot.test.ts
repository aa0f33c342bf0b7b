import { exportJWK, generateKeyPair, SignJWT } from 'jose'
import { beforeAll, expect, it } from 'vitest'
import { guideTool } from '../../setup/guides-tools.ts'
import { ask } from '../ask.ts'
import { blockOf, type RunningGuide, startGuide } from '../page.ts'
import { startProgram } from '../program.ts'
import { askEverything } from '../questions.ts'
import type { Service } from '../service.ts'

/** docs/guides/spring-boot.md, with Spring Boot in Tomcat. */

/** With the properties of the page. */
function startSpring(): Promise<Service> {
  return startProgram(({ port, write }) => {
    write('application.properties', `${blockOf('spring-boot', 'properties')}server.port=${port}\n`)
    // It runs for seconds only: the better compiler would take them.
    return { command: 'java', args: ['-XX:TieredStopAtLevel=1', '-jar', guideTool('spring')] }
  })
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
