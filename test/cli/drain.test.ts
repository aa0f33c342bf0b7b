import { execFile } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { createServer, type IncomingHttpHeaders } from 'node:http'
import { type AddressInfo, isIPv4 } from 'node:net'
import { networkInterfaces } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { beforeAll, expect, test } from 'vitest'
import { type RunningApp, startApp, yaml } from '../e2e/harness.ts'
import { tempFolder } from '../setup/at-end.ts'
import { packagesOf } from '../setup/packages.ts'
import { freePort } from '../setup/redis.ts'
import { called } from './called.ts'

const run = promisify(execFile)

let app: RunningApp
const folder = tempFolder()
beforeAll(async () => {
  app = await startApp(yaml('http://127.0.0.1:1', ''))
})

/** @returns exit code and what was said */
async function drain(admin: string, ...options: string[]): Promise<[number, string]> {
  const file = join(folder, 'tollgate.yaml')
  writeFileSync(file, `upstream: { url: "http://127.0.0.1:1" }\nadmin: ${admin}\n`)
  const { code, stdout, stderr } = await called('drain', '-c', file, ...options)
  return [code, (stdout + stderr).trimEnd()]
}

const readiness = async (): Promise<number> => (await fetch(`${app.admin}/readyz`)).status

test('tollgate drain takes the gateway out of service, however often it is called, and back', async () => {
  const admin = `{ listen: "0.0.0.0:${new URL(app.admin).port}", token: another-token-than-the-running-one }`
  expect(await readiness()).toBe(200)
  for (let i = 0; i < 2; i++) {
    expect(await drain(admin)).toEqual([0, expect.stringContaining(`${app.admin}: Out of service`)])
    expect(await readiness()).toBe(503)
  }
  for (let i = 0; i < 2; i++) {
    expect(await drain(admin, '--end')).toEqual([0, `${app.admin}: In service again.`])
    expect(await readiness()).toBe(200)
  }
})

test('tollgate drain says why it is not done', async () => {
  const port = await freePort()
  const [code, said] = await drain(`{ listen: "127.0.0.1:${port}" }`)
  expect([code, said]).toEqual([1, expect.stringMatching(/^not done: http:\/\/127.0.0.1:\d+: connect ECONNREFUSED/)])
  const program = run(process.execPath, ['src/main.ts', 'drain', '-c', join(folder, 'tollgate.yaml')])
  await expect(program).rejects.toMatchObject({ code, stdout: '', stderr: `${said}\n` })
})

test('tollgate drain sends the admin token of the file if the gateway listens on no loopback address, and only then', async () => {
  const own = Object.values(networkInterfaces()).flatMap((all = []) => all.filter(({ internal }) => !internal))
  const address = own.find(({ address }) => isIPv4(address))?.address
  const seen: [string, IncomingHttpHeaders['authorization']][] = []
  const server = createServer(({ method, url, headers }, res) => {
    seen.push([`${method} ${url}`, headers.authorization])
    res.end('{"draining":true,"msg":"done"}')
  })
  await new Promise<void>((resolve) => server.listen(0, address ?? '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  const tokens = 'tokens: [{ name: a, role: viewer, token: viewer-0123456789 }, { name: b, token: admin-0123456789 }]'
  expect(await drain(`{ listen: "${address ?? '127.0.0.1'}:${port}", ${tokens} }`)).toEqual([0, expect.any(String)])
  expect(seen).toEqual([['POST /drain?state=on', address === undefined ? undefined : 'Bearer admin-0123456789']])
  server.close()
})

test('loads what reads the address and no more, since it runs in the memory that the gateway was given', () => {
  expect(packagesOf('src/cli/drain.ts').sort()).toEqual(['yaml', 'zod'])
})
