import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startUpstream, type Upstream } from '../e2e/harness.ts'
import { type GatewayProcess, spawnGateway } from '../e2e/process.ts'
import type { Browser, OpenPage } from '../setup/browser.ts'
import { freePort, sharedRedis } from '../setup/redis.ts'
import { actions, limitActions } from './actions.ts'
import { ask, configOf, openSignedIn, QUOTA, SOON, sharedBrowser } from './stage.ts'

interface Replica {
  readonly process: GatewayProcess
  readonly url: string
  readonly admin: string
}

let redis: Awaited<ReturnType<typeof sharedRedis>>
let upstream: Upstream
let browser: Browser
let folder: string
const replicas: Replica[] = []
let one: Replica
let two: Replica

async function start(name: string, quota = QUOTA): Promise<Replica> {
  const [gateway, admin] = [`127.0.0.1:${await freePort()}`, `127.0.0.1:${await freePort()}`]
  const file = join(folder, `${name}.yaml`)
  // The addresses come from outside, so that replicas may have one file.
  const rest = `store_options: { prefix: ${redis.prefix}, deadline: 5s }\n${quota}`
  const listeners = { gateway: '$' + '{GATEWAY}', admin: '$' + '{ADMIN}' }
  const yaml = configOf(upstream.url, { rest, store: redis.url, ...listeners })
  await writeFile(file, yaml.replace('level: fatal', 'level: info'))
  const process = await spawnGateway(file, `http://${gateway}/`, { GATEWAY: gateway, ADMIN: admin })
  const replica = { process, url: `http://${gateway}`, admin: `http://${admin}` }
  replicas.push(replica)
  return replica
}

// One for each page.
limitActions(2)
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'tollgate-replicas-'))
  upstream = await startUpstream()
  redis = await sharedRedis()
  ;[one, two, browser] = await Promise.all([start('same'), start('same'), sharedBrowser()])
})
afterAll(async () => {
  await browser.closePages()
  await Promise.all(replicas.map(({ process }) => process.end('SIGKILL')))
  await upstream.close()
  await redis.stop()
  await rm(folder, { recursive: true })
})

test('a change on the page of one replica is in force on the other within 2 seconds', async () => {
  expect([await ask(one.url, 'alice'), await ask(two.url, 'alice')]).toEqual([{ status: 200 }, { status: 200 }])
  expect(await ask(two.url, 'alice')).toEqual({ status: 429, limit: 10 })
  const { page, errors, close } = await openSignedIn(browser, one.admin, '#/limits')
  await page.getByRole('radio', { name: 'Conservative' }).check()
  await page.getByRole('button', { name: 'Preview', exact: true }).click()
  const changed = page.waitForResponse((response) => response.request().method() === 'PATCH')
  await page.getByRole('button', { name: 'Apply', exact: true }).click()
  expect((await changed).status()).toBe(200)
  // What the contract promises.
  await expect.poll(() => ask(two.url, 'alice'), { timeout: 2000, interval: 20 }).toEqual({ status: 429, limit: 7 })
  expect(errors).toEqual([])
  await close()
})

test('the page of each shows all of them, and whether they agree', async () => {
  const views: OpenPage[] = await Promise.all([one, two].map(({ admin }) => openSignedIn(browser, admin, '#/overview')))
  for (const { page } of views) await actions.click(page.getByRole('link', { name: 'Replicas', exact: true }))
  const agree = 'All have the same configuration and follow the last change.'
  const disagree = 'The replicas do not agree'
  const pids = (of: readonly Replica[]) => of.map(({ process }) => String(process.child.pid)).sort()
  const shown = async ({ page }: OpenPage) => {
    const names = await page.getByRole('region', { name: 'Replicas' }).getByRole('rowheader').allInnerTexts()
    return names.map((name) => name.split(/\s+/).at(-1)).sort()
  }
  for (const view of views) {
    await expect.poll(() => shown(view), SOON).toEqual(pids([one, two]))
    await view.page.getByText(agree).waitFor()
  }
  const loaded = one.process.lines().find(({ msg }) => msg === 'configuration loaded')
  const rules = String(loaded?.rules).slice(0, 12)
  await expect.poll(() => views[0]?.page.getByRole('cell', { name: rules }).count(), SOON).toBe(2)
  // What each does in a second, once there are looks enough.
  const rates = () => views[0]?.page.locator('td[data-head="Requests/s"]').allInnerTexts()
  await expect.poll(rates, SOON).toEqual([expect.stringMatching(/^\d/), expect.stringMatching(/^\d/)])

  const other = await start('other', QUOTA.replace('1h: 1000', '1h: 2000'))
  for (const view of views) {
    await view.page.getByText(disagree).waitFor()
    await view.page.getByText(/^Their configuration differs from that of the process that serves this page: /).waitFor()
    expect(await shown(view)).toEqual(pids([one, two, other]))
    const row = view.page.getByRole('row').filter({ hasText: String(other.process.child.pid) })
    await expect.poll(() => row.getByText('differs').count(), SOON).toBe(1)
  }

  await other.process.end('SIGTERM')
  for (const view of views) {
    await view.page.getByText(agree).waitFor()
    expect(await shown(view)).toEqual(pids([one, two]))
    await view.page.getByText(new RegExp(`${other.process.child.pid} left at \\d\\d:\\d\\d:\\d\\d\\.`)).waitFor()
    expect(view.errors).toEqual([])
  }
})
