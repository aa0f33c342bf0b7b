import { execFileSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, expect, it } from 'vitest'
import { type RunningApp, startApp, startUpstream, type Upstream, yaml } from '../e2e/harness.ts'
import { bearer } from '../e2e/jwt.ts'
import { tempFolder } from '../setup/at-end.ts'

/** The commands of docs/upkeep.md for a pod, with what kubectl would run there: the same program, with another folder as /data. */

const data = tempFolder()
let upstream: Upstream
let app: RunningApp

beforeAll(async () => {
  upstream = await startUpstream()
  app = await start()
})

const start = (): Promise<RunningApp> =>
  startApp(
    yaml(
      upstream.url,
      `
quota: { baselines: { personal: { read: { 1h: 100 } }, global: { read: { 1h: 100 } } } }
routes: [{ match: GET /, category: read, cost: 1 }]
`,
      `sqlite:${data}/tollgate.db`,
    ),
  )

const ask = (path = '/'): Promise<Response> => fetch(app.url + path, { headers: bearer('alice') })

async function charge(times: number): Promise<void> {
  for (let i = 0; i < times; i++) expect((await ask()).status).toBe(200)
}

async function used(): Promise<number> {
  const { windows } = (await (await ask('/me/quota')).json()) as { windows: { read: { used: number }[] } }
  return windows.read[0]?.used ?? -1
}

/** What the shell of the page would do in the pod. */
function inPod(command: string): Buffer {
  const here = command.replaceAll('/data/', `${data}/`).replace('dist/main.js', 'src/main.ts')
  return execFileSync('sh', ['-c', `"$NODE" ${here}`], { env: { ...process.env, NODE: process.execPath } })
}

it('an embedded store is backed up while it is in use, got out of the pod and restored', async () => {
  const page = readFileSync(new URL('../../docs/upkeep.md', import.meta.url), 'utf8')
  const commands = [...page.matchAll(/^kubectl exec deploy\/tollgate -c tollgate -- \/nodejs\/bin\/node (.*)$/gm)]
  const [backUp = '', read = ''] = commands.map(([, command]) => String(command))

  await charge(3)
  inPod(backUp)
  await charge(2)
  writeFileSync(join(data, 'got.db'), inPod(read.replace(/ > backup\.db$/, '')))
  expect(await used()).toBe(5)

  await app.stop()
  inPod('dist/main.js store copy --from sqlite:/data/got.db --to sqlite:/data/tollgate.db --force')
  app = await start()
  expect(await used()).toBe(3)
})
