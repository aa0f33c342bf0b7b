import { setTimeout as sleep } from 'node:timers/promises'
import { type RunningApp, startApp, yaml } from '../e2e/harness.ts'
import { tokensIn } from '../observe/settled.ts'
import type { Certificates } from '../setup/ways.ts'
import { Client } from './client.ts'
import { SMALL, type WorldPlan } from './plan.ts'
import { Records, type RequestRecord } from './records.ts'
import { hasBody, startUpstream } from './upstream.ts'

/** The whole gateway between clients and an upstream that do as planned. @returns what they saw, judged */
export async function runWorld(plan: WorldPlan, certificates: Certificates): Promise<Records> {
  const records = new Records(plan)
  const upstream = await startUpstream(certificates, plan.way, records)
  const app = await startApp(config(plan, certificates, upstream.url))
  try {
    await runClients(plan, records, app)
    await untilIdle(app)
    for (const record of records.requests.values()) judge(record, records)
    await judgeCharges(records, app)
  } finally {
    await app.stop()
    upstream.close()
  }
  return records
}

const QUOTA = '{ 1h: 1000000000 }'
/** A machine with much to do is late, and no fault of the gateway. */
const PATIENT_EDGE = 'headers_timeout: 10m, upload_grace: 10m, max_lag: 1m, shares: { address: none, user: none }'
const PATIENT_UPSTREAM = 'connect_timeout: 1m, queue_timeout: 10m, response_timeout: 10m, idle_timeout: 10m'

function config({ way, upstream, edge }: WorldPlan, certificates: Certificates, url: string): string {
  const rest = `
edge: { ${[edge, PATIENT_EDGE].filter(Boolean).join(', ')} }
quota: { baselines: { personal: { read: ${QUOTA} }, global: { read: ${QUOTA} } } }
routes:
  - { match: "* /r/:id", category: read, cost: 1 }
  - { match: "* /s/:id", category: read, cost: 1, settle: { json: n, max: 9 } }
${certificates.listener(way)}`
  const more = [upstream, PATIENT_UPSTREAM, certificates.upstream(way)].filter(Boolean).join(', ')
  return yaml(url, rest, 'sqlite::memory:', more)
}

async function runClients({ sessions, loops }: WorldPlan, records: Records, app: RunningApp): Promise<void> {
  const clients: Client[] = []
  const queue = [...sessions]
  async function loop(): Promise<void> {
    for (let plan = queue.shift(); plan !== undefined; plan = queue.shift()) {
      const client = new Client(app.url, plan, records)
      clients.push(client)
      await client.run()
    }
  }
  const watch = watchSilence(records, () => {
    queue.length = 0
    for (const client of clients) client.giveUp()
  })
  await Promise.all(Array.from({ length: loops }, loop))
  clearInterval(watch)
  for (const client of clients) client.destroy()
}

const TICK_MS = 50
/** Without a byte in the whole world. No client and no upstream here is silent for longer than a moment. */
const SILENCE_MS = 10_000

/** Of the world and not of one client: those before it may have the only connection to the upstream for long. */
function watchSilence(records: Records, silent: () => void): NodeJS.Timeout {
  let [last, seen, silentMs] = [performance.now(), 0, 0]
  return setInterval(() => {
    const now = performance.now()
    // In short pieces: where this process was held up, what came meanwhile is read first.
    silentMs = records.portions === seen ? silentMs + Math.min(now - last, 2 * TICK_MS) : 0
    last = now
    seen = records.portions
    if (silentMs > SILENCE_MS) silent()
  }, TICK_MS)
}

async function untilIdle(app: RunningApp): Promise<void> {
  for (;;) {
    const metrics = await (await fetch(`${app.admin}/metrics`)).text()
    if (/^tollgate_inflight_requests 0$/m.test(metrics)) return
    await sleep(10)
  }
}

function judge(record: RequestRecord, records: Records): void {
  const { plan, session, sent, status, error, complete, heads } = record
  const bad = (what: string): void => records.report(what, record)
  if (heads > 1) bad(`the upstream got it ${heads} times`)
  if (heads > 0 && sent === 'nothing') bad('the upstream got what was not sent')
  if (complete && error === null && heads !== 1) bad('a response of the upstream, which has not seen the request')
  if (complete && error === null && plan.response.fault !== null)
    bad('a whole response of an upstream that broke it off')
  if (error !== null && !isExcused(record, records)) bad(`the gateway responded with ${status} ${error}`)
  if (heads > 0 && sent === 'a part' && isReadFirst(record)) bad('a part of a small upload reached the upstream')
  if (!complete && !session.left && !session.broken && !session.late && !isBehindEnd(record, records))
    bad('no response came')
}

/** Whether the body is read to its end before anything is charged. */
function isReadFirst({ plan: { upload } }: RequestRecord): boolean {
  return upload !== null && upload.chunks === null && !upload.expects && upload.size <= SMALL
}

/**
 * An upstream that closes connections at any time may close one just when a request is on its way, and only what is safe
 * is sent again. One that responds early and closes, or resets, loses the request.
 */
function isExcused({ plan, status, heads }: RequestRecord, { world }: Records): boolean {
  if (status !== 502) return false
  if (heads === 1) return plan.response.fault !== null
  const safe = plan.method === 'GET' || plan.method === 'HEAD' || plan.method === 'OPTIONS'
  return world.closes && !(safe && plan.upload === null)
}

/** Behind a response of the gateway itself that ends the connection, as one does to an upload that is under way. */
function isBehindEnd({ plan, session }: RequestRecord, records: Records): boolean {
  for (const other of session.plan.batches.flat()) {
    if (other.id === plan.id) return false
    if (records.get(other).error !== null) return true
  }
  return false
}

/** The corrections of the last responses may still be on their way to the store. */
async function judgeCharges(records: Records, app: RunningApp): Promise<void> {
  let wrong = await wrongCharges(records, app)
  for (let tries = 0; wrong.length > 0 && tries < 50; tries++) {
    await sleep(100)
    wrong = await wrongCharges(records, app)
  }
  for (const what of wrong) records.report(what, null)
  const faults = app.observations.filter(({ type }) => type === 'internal_error').length
  if (faults > 0) records.report(`${faults} faults in the gateway`, null)
}

/** For each user: what the upstream got is charged, and nothing else but what may have reached it. */
async function wrongCharges(records: Records, app: RunningApp): Promise<string[]> {
  const users = new Map<string, RequestRecord[]>()
  for (const record of records.requests.values()) {
    const { user } = record.plan
    users.set(user, [...(users.get(user) ?? []), record])
  }
  const wrong: string[] = []
  let total = 0
  for (const [user, of] of users) {
    const charged = await usedBy(user, app)
    total += charged
    const costs = of.map(costOf)
    const [least, most] = [0, 1].map((i) => costs.reduce((sum, cost) => sum + (cost[i] ?? 0), 0)) as [number, number]
    if (charged >= least && charged <= most) continue
    wrong.push(`${user} is charged ${charged}: what the upstream got and was sent costs ${least} to ${most}`)
  }
  const told = tokensIn(app.observations)
  if (told !== total) wrong.push(`${told} were said to be charged, but the windows hold ${total}`)
  return wrong
}

/** The least and the most: of a stream that was cut off nobody here knows whether the gateway had all of it. */
function costOf(record: RequestRecord): readonly [number, number] {
  const { plan, heads, complete, error } = record
  const { says } = plan.response
  if (heads === 0) return [0, mayBeCharged(record) ? 1 : 0]
  if (says === null || !hasBody(plan)) return [1, 1]
  if (!complete) return [1, says]
  return error === null ? [says, says] : [1, 1]
}

/** Of what the upstream has not seen: of clients that left, of those behind an end, and what was lost on its way. */
function mayBeCharged(record: RequestRecord): boolean {
  if (record.sent === 'nothing') return false
  if (record.sent === 'a part' && isReadFirst(record)) return false
  if (record.complete) return record.error === 'bad_upstream_answer' || record.error === 'upstream_unreachable'
  return true
}

async function usedBy(user: string, app: RunningApp): Promise<number> {
  const headers = { authorization: 'Bearer test-admin-token-0001' }
  const response = await fetch(`${app.admin}/api/users/${user}`, { headers })
  if (response.status === 404) return 0
  const { windows } = (await response.json()) as { windows: { read: { scope: string; used: number }[] } }
  return windows.read.find(({ scope }) => scope === 'Personal')?.used ?? Number.NaN
}
