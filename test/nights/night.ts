import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { keySet, serve, serveJson, type TestKey, type TestServer } from '../auth/support.ts'
import { Client, readJson } from '../faults/client.ts'
import { endGateway, type Gateway, startGateway, untilReady } from '../faults/gateway.ts'
import { type LoggingUpstream, startLoggingUpstream } from '../faults/upstream.ts'
import { type FaultProxy, startFaultProxy } from '../setup/fault-proxy.ts'
import { PERSISTENT, type RedisServer, startRedis } from '../setup/redis.ts'

/** What goes wrong in a night, and what it is to come to. */
export interface Night {
  readonly name: string
  /** Of docs/runbook.md, where its cure stands. */
  readonly runbook: string
  /** The key of an identity provider whose tokens the gateway takes too. Default no provider. */
  readonly key?: TestKey
  /** More arguments of Redis. Default none. */
  readonly redis?: readonly string[]
  /** What must be told within ten seconds: a part of a line of the log, or of what `/readyz` says. `null` where there is nothing to do. */
  readonly told: RegExp | null
  /** Errors that clients may get. Default none. */
  readonly may?: readonly string[]
  /** How far charges may differ from what the upstream saw. Default 0: they are exact. */
  readonly off?: number
  /** Breaks something and mends it, while clients ask on. At most a minute. */
  run(world: World): Promise<void>
}

export interface World {
  readonly folder: string
  readonly redis: RedisServer
  /** Between the gateway and Redis. */
  readonly proxy: FaultProxy
  readonly upstream: LoggingUpstream
  readonly gateway: Gateway
  /** Publishes a key set; answers nobody where the night has no key. */
  readonly provider: TestServer
  /** What a run finds wrong by itself. */
  readonly problems: string[]
  /** Another replica with the same store and configuration. */
  replica(): Promise<Gateway>
  /** From now on clients ask these gateways, in turn. */
  ask(...gateways: readonly Gateway[]): void
  /** The fault begins only now: what came before was its preparation. */
  breaks(): void
  /** Answers of the requests so far, and what `/readyz` of the gateway says. */
  look(note: string): Promise<void>
}

export interface Report {
  /** How many requests had each, `200` or one like `503 store_unavailable`. */
  readonly answers: ReadonlyMap<string, number>
  /** Tokens in the store less requests that the upstream saw. */
  readonly difference: number
  /** What was told first, and after how many milliseconds; `null` if nothing was within ten seconds. */
  readonly told: { readonly text: string; readonly afterMs: number } | null
  readonly notes: readonly string[]
  /** What is not as it should be. */
  readonly problems: readonly string[]
}

/** Of the provider's tokens. */
export const ISSUER = 'https://id.night'
const USERS = ['alice', 'bob', 'carol', 'dave', 'eve']
/** A request each so many milliseconds. */
const EVERY_MS = 25
const TOLD_MS = 10_000

/** Runs one night with servers of its own. */
export async function runNight(night: Night): Promise<Report> {
  const folder = mkdtempSync(join(tmpdir(), 'tollgate-night-'))
  const redis = await startRedis({ args: [...PERSISTENT, ...(night.redis ?? [])] })
  const proxy = await startFaultProxy(redis.port)
  const upstream = await startLoggingUpstream()
  const provider = await serve(night.key === undefined ? (_, response) => response.end() : serveJson(keySet(night.key)))
  const issuers = `{ issuer: "${ISSUER}", audience: tollgate, jwks: "${provider.url}", algorithms: [ES256] },`
  const servers = { folder, redis, proxy, upstream, provider, problems: [] }
  const started: Gateway[] = []
  const start = async (): Promise<Gateway> => {
    const file = join(folder, `tollgate-${started.length}.yaml`)
    const gateway = await startGateway({ file, config: configOf(servers), issuers: night.key && issuers })
    started.push(gateway)
    return gateway
  }
  try {
    const gateway = await start()
    await untilReady(gateway)
    return await observed(night, { ...servers, gateway, replica: start }, started)
  } finally {
    for (const each of started) await endGateway(each)
    await provider.close()
    await upstream.close()
    await proxy.close()
    await redis.stop()
    rmSync(folder, { recursive: true, force: true })
  }
}

/** The configuration of every night, to which routes may be added. */
export function configOf({ proxy, upstream }: Pick<World, 'proxy' | 'upstream'>): string {
  return `
upstream: { url: "http://127.0.0.1:${upstream.port}" }
store: redis://127.0.0.1:${proxy.port}
# A machine that is busy elsewhere is no night.
store_options: { deadline: 500ms }
quota:
  windows: { 1d: 1d }
  baselines: { personal: { read: { 1d: 1000000 }, write: { 1d: 1000000 } } }
  store_outage: { read: { allow: 10% } }
log: { requests: none }
routes:
  - { match: "GET /public/*", public: true }
  - { match: "GET /read/*", category: read, cost: 1 }
  - { match: "POST /write/*", category: write, cost: 1 }
`
}

async function observed(
  night: Night,
  world: Omit<World, 'ask' | 'look' | 'breaks'>,
  started: Gateway[],
): Promise<Report> {
  const client = new Client()
  const answers = new Map<string, number>()
  const notes: string[] = []
  let asked: readonly Gateway[] = [world.gateway]
  let isOver = false
  const look = async (note: string): Promise<void> => {
    const counts = [...answers].map(([answer, count]) => `${count} x ${answer}`).join(', ')
    notes.push(`${note}: ${counts}; /readyz ${await world.gateway.readiness().catch(() => 'does not answer')}`)
  }
  const traffic = keepAsking(
    client,
    () => asked,
    answers,
    () => isOver,
  )
  await sleep(1000)
  const listen = () => firstTold(night.told, started, linesOf(started).length, performance.now())
  let told = listen()
  const ask: World['ask'] = (...gateways) => {
    asked = gateways
  }
  const breaks = (): void => {
    told = listen()
  }
  await night.run({ ...world, ask, look, breaks })
  isOver = true
  await traffic
  const difference = await settledDifference(world, asked[0] ?? world.gateway)
  client.close()
  const found = await told
  return {
    answers,
    difference,
    told: found,
    notes,
    problems: [...world.problems, ...problemsOf(night, answers, difference, found)],
  }
}

function problemsOf(
  { may = [], off = 0, told: wanted }: Night,
  answers: Report['answers'],
  difference: number,
  told: Report['told'],
): string[] {
  const others = [...answers.keys()].filter(
    (answer) => answer !== '200' && !may.some((error) => answer.endsWith(error)),
  )
  return [
    ...others.map((answer) => `clients got ${answer}`),
    ...(Math.abs(difference) > off ? [`charges differ by ${difference}`] : []),
    ...(told === null && wanted !== null ? ['nobody was told within ten seconds'] : []),
  ]
}

async function keepAsking(
  client: Client,
  asked: () => readonly Gateway[],
  answers: Map<string, number>,
  isOver: () => boolean,
): Promise<void> {
  const all: Promise<void>[] = []
  for (let i = 0; !isOver(); i++) {
    const gateways = asked()
    const { url } = gateways[i % gateways.length] as Gateway
    const [category, method] = i % 2 === 0 ? (['read', 'GET'] as const) : (['write', 'POST'] as const)
    const answered = client.ask(url, category, USERS[i % USERS.length] as string, { method })
    all.push(answered.then(({ status, error }) => count(answers, `${status} ${error}`.trim())))
    await sleep(EVERY_MS)
  }
  await Promise.all(all)
}

function count(answers: Map<string, number>, answer: string): void {
  answers.set(answer, (answers.get(answer) ?? 0) + 1)
}

/** Lines of the log that are not of requests. */
function linesOf(gateways: readonly Gateway[]): Record<string, unknown>[] {
  return gateways.flatMap((gateway) => gateway.events())
}

async function firstTold(
  pattern: RegExp | null,
  gateways: Gateway[],
  before: number,
  began: number,
): Promise<Report['told']> {
  while (pattern !== null && performance.now() - began < TOLD_MS) {
    const line = linesOf(gateways)
      .slice(before)
      .map(textOf)
      .find((text) => pattern.test(text))
    const states = await Promise.all(gateways.map((gateway) => gateway.readiness().catch(() => '')))
    const state = states.find((text) => pattern.test(text))
    const text = line ?? (state === undefined ? undefined : `/readyz ${state}`)
    if (text !== undefined) return { text, afterMs: Math.round(performance.now() - began) }
    await sleep(100)
  }
  return null
}

function textOf({ msg, detail, reason, problems, problem }: Record<string, unknown>): string {
  const more = [reason, detail, problem, Array.isArray(problems) ? problems[0] : undefined].filter(
    (it) => it !== undefined,
  )
  return [msg, ...more].join(': ')
}

/** What is owed is charged within seconds. */
async function settledDifference(
  { upstream, proxy }: Pick<World, 'upstream' | 'proxy'>,
  gateway: Gateway,
): Promise<number> {
  await proxy.heal()
  let difference = Number.NaN
  for (let tries = 0; tries < 40 && difference !== 0; tries++) {
    await sleep(250)
    const used = await Promise.all(USERS.map((user) => usedBy(gateway, user)))
    difference =
      used.reduce((sum, each) => sum + each, 0) - upstream.seen.filter(({ category }) => category !== 'public').length
  }
  return difference
}

interface Status {
  readonly windows: Readonly<Record<string, readonly { readonly used: number }[]>>
}

async function usedBy({ url }: Gateway, user: string): Promise<number> {
  const { windows } = await readJson<Status>(`${url}/me/quota`, user)
  return Object.values(windows).reduce((sum, [first]) => sum + (first?.used ?? 0), 0)
}
