import { fileURLToPath } from 'node:url'
import { createChartService } from '../chart/service.ts'
import type { Address } from '../common/address.ts'
import { stderrLogger } from '../common/command.ts'
import { createScoreService } from '../score/service.ts'
import { createSyncService } from '../sync/service.ts'
import type { Home } from './home.ts'

/** The bundled services, started: the score backend, the network score-sync and the chart preview. */
export interface Services {
  readonly score: { readonly url: string; readonly secret: string }
  readonly sync: { readonly url: string; readonly botToken: string }
  readonly chart: { readonly url: string; readonly key: string; readonly adminSecret: string }
  close(): Promise<void>
}

export interface ServiceAddresses {
  readonly score: Address
  readonly sync: Address
  readonly chart: Address
  /** The origins of the gateway's pages, which may call the other services. */
  readonly pages: readonly string[]
}

const config = (name: string): string => fileURLToPath(new URL(`../../config/${name}`, import.meta.url))

/** @throws Error if an address is taken; services that were started by then are closed */
export async function startServices(home: Home, addresses: ServiceAddresses): Promise<Services> {
  const started: { close(): Promise<void> }[] = []
  const close = async (): Promise<void> => {
    await Promise.all(started.map((service) => service.close()))
  }
  try {
    const score = await startScore(home, addresses, started)
    const sync = await startSync(home, addresses, started)
    const chart = await startChart(home, addresses, started)
    return { score, sync, chart, close }
  } catch (error) {
    await close()
    throw error
  }
}

type Started = { close(): Promise<void> }[]

async function startScore(home: Home, addresses: ServiceAddresses, started: Started): Promise<Services['score']> {
  const secret = home.secret('backend-secret')
  const service = await createScoreService({
    database: home.path('score.db'),
    catalogue: config('score/catalogue.json'),
    external: process.env.SCORE_EXTERNAL ?? config('score/external.json'),
    backendSecret: secret,
    logger: stderrLogger,
  })
  started.push(service)
  // The database itself proves nothing: a start that was killed may have left it without the fixture.
  if (home.kept('fixture') === null) {
    await service.importFixture(config('score/fixture.json'))
    home.keep('fixture', 'imported')
  }
  const { url } = await service.listen(addresses.score)
  return { url, secret }
}

async function startSync(home: Home, addresses: ServiceAddresses, started: Started): Promise<Services['sync']> {
  const botToken = home.secret('bot-token')
  const service = await createSyncService({
    database: home.path('sync.db'),
    catalogue: config('score/catalogue.json'),
    botTokens: [botToken],
    logger: stderrLogger,
    allowedOrigins: addresses.pages,
  })
  started.push(service)
  const { url } = await service.listen(addresses.sync)
  return { url, botToken }
}

async function startChart(home: Home, addresses: ServiceAddresses, started: Started): Promise<Services['chart']> {
  const adminSecret = home.secret('chart-admin-secret')
  const service = await createChartService({
    database: home.path('chart.db'),
    charts: config('charts'),
    adminSecret,
    logger: stderrLogger,
    allowedOrigins: addresses.pages,
  })
  started.push(service)
  const old = home.kept('chart-key')
  const keys = await service.listKeys()
  const isKnown = old !== null && keys.some(({ prefix }) => old.startsWith(prefix))
  const key = isKnown ? old : home.keep('chart-key', (await service.createKey('demo')).key)
  const { url } = await service.listen(addresses.chart)
  return { url, key, adminSecret }
}
