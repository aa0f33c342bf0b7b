import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import type { Plan, Sent } from '../attacks/attacker.ts'
import { createOthers, OTHERS, type Served, SOON_MS } from '../attacks/others.ts'
import {
  type AttackRow,
  attackRows,
  authOf,
  BIG,
  createDearIssuer,
  type DearIssuer,
  kindsOf,
  type Ports,
  ROUTES,
} from '../attacks/rows.ts'
import { type Checkout, checkoutOf, commitOfNow } from '../checkout.ts'
import { freePort, LOADING_CORE, startProgram } from '../processes.ts'
import { table } from '../report.ts'
import type { Running } from '../servers.ts'
import { median } from '../statistics.ts'
import type { Bench, Group } from './group.ts'

/** The harm that strangers do to fifty others, each a user with its own address: at an earlier commit, now, and with nginx. */

/** The others ask before the attack, so that code is compiled and their kept connections are open. */
const WARM_SECONDS = 1.5
/** The time from the connection of all attackers to the measurement, in milliseconds. */
const SETTLE_MS = 500
const ASK_SECONDS = 6
const QUICK_SECONDS = 2

const ATTACKER = fileURLToPath(new URL('../attacks/attacker.ts', import.meta.url))
const NGINX_LIMITS = { connections: 10_000, ofAddress: 1000 }

const SUBJECTS = ['before', 'now', 'nginx'] as const
type Subject = (typeof SUBJECTS)[number]

interface Met extends Served {
  readonly sent: Sent
}

const NOTHING: Sent = { bytes: 0, opened: 0, responses: 0, closed: 0 }

interface Backends {
  readonly redis: Running
  readonly upstream: Running
}

interface Field {
  readonly bench: Bench
  readonly before: Checkout
  readonly issuer: DearIssuer
}

export const attacks: Group = async (bench) => {
  const { stage, quick } = bench
  const before = checkoutOf(bench.before, stage.folder('before'))
  const field = { bench, before, issuer: createDearIssuer(stage.folder('issuer')) }
  const rows: string[][] = []
  const remarks: string[] = []
  for (const row of attackRows(field.issuer.forged)) {
    const met = new Map<Subject, Met>()
    for (const subject of SUBJECTS) {
      if (subject === 'nginx' && row.nginx !== true) continue
      const result = await meet(row, subject, field)
      met.set(subject, result)
      remarks.push(...remarkOf(row, subject, result))
    }
    const kilobytes = ((met.get('now')?.sent.bytes ?? 0) / 1000).toFixed(0)
    rows.push([row.name, ...SUBJECTS.flatMap((subject) => cellsOf(met.get(subject))), kilobytes])
    process.stderr.write(`attacks: ${rows.at(-1)?.join(' | ')}\n`)
  }
  const head = ['Attack', ...SUBJECTS.flatMap((name) => [name, 'p50', 'max']), 'KB']
  const remarked = ['', 'Where requests were not served, this came instead:', '', ...remarks]
  return {
    title: 'What strangers take from others',
    intro: introOf(before, quick),
    lines: [...table(head, rows), ...remarked],
  }
}

function introOf(before: Checkout, quick: boolean): string {
  return `Before is ${before.name}, now is ${commitOfNow()}, both with their defaults, and nginx has as many connections. Each row once, with servers of its own.
While the attack lasts ${OTHERS} users ask for ${quick ? QUICK_SECONDS : ASK_SECONDS} s, each twice a second from an address of its own. The first number of a column says how many of them had all their requests served within ${SOON_MS / 1000} s. p50 and max are milliseconds of all requests; "never" is a request that was refused, cut off, or not answered within 8 s. KB is what the attacker sent now:`
}

function cellsOf(met: Met | undefined): string[] {
  if (met === undefined) return ['', '', '']
  const figure = (ms: number): string => (ms === Number.POSITIVE_INFINITY ? 'never' : ms.toFixed(0))
  return [`${met.soon}`, figure(median(met.waits)), figure(Math.max(...met.waits))]
}

function remarkOf({ name }: AttackRow, subject: Subject, { waits, instead, sent }: Met): string[] {
  if (instead.size === 0) return []
  const list = [...instead].map(([what, count]) => `${count} x ${what}`).join(', ')
  return [
    `- ${name}, ${subject}: of ${waits.length} requests ${list}; ${sent.closed} of the ${sent.opened} connections of the attacker were closed.`,
  ]
}

async function meet(row: AttackRow, subject: Subject, field: Field): Promise<Met> {
  const { stage, quick } = field.bench
  const [redis, upstream] = [await stage.redis(), await stage.upstream([BIG])]
  const { server, ports } = await startSubject(subject, { redis, upstream }, field)
  const others = createOthers(kindsOf(row, ports, field.issuer))
  try {
    await others.ask(WARM_SECONDS)
    const attack = row.attack === null ? null : await beginAttack(row, ports)
    await sleep(SETTLE_MS)
    const served = await others.ask(quick ? QUICK_SECONDS : ASK_SECONDS)
    return { ...served, sent: attack === null ? NOTHING : await attack.end() }
  } finally {
    others.close()
    for (const one of [server, upstream, redis]) await one.stop()
  }
}

async function startSubject(subject: Subject, { redis, upstream }: Backends, { bench, before, issuer }: Field) {
  const { stage, requests } = bench
  if (subject === 'nginx') {
    const server = await stage.nginx({ upstream, redis, known: requests.known, limits: NGINX_LIMITS })
    return { server, ports: { port: server.port, admin: null } }
  }
  const admin = await freePort()
  const server = await stage.gateway({
    upstream,
    store: redis,
    change: { routes: ROUTES, edge: {}, auth: authOf(issuer, upstream), admin: { listen: `127.0.0.1:${admin}` } },
    ...(subject === 'before' && { checkout: before.folder }),
  })
  return { server, ports: { port: server.port, admin } }
}

interface Attack {
  end(): Promise<Sent>
}

/** Resolves when each connection of the attack is open or refused, after 6 s at the latest. */
async function beginAttack({ attack, at }: AttackRow, { port, admin }: Ports): Promise<Attack> {
  const { addresses: count, ...plan } = attack as NonNullable<AttackRow['attack']>
  const addresses = Array.from({ length: count }, (_, i) => `127.0.${2 + Math.floor(i / 250)}.${(i % 250) + 1}`)
  const child = startProgram(ATTACKER, LOADING_CORE)
  child.send({ ...plan, addresses, port: at === 'admin' ? (admin ?? 0) : port } satisfies Plan)
  await messageOf(child)
  return {
    end: async () => {
      child.send('end')
      return (await messageOf(child)) as Sent
    },
  }
}

/** @throws Error if the process ends first */
async function messageOf(child: ChildProcess): Promise<unknown> {
  const ended = new AbortController()
  child.once('exit', () => ended.abort(new Error('the attacker ended')))
  const [message] = await once(child, 'message', { signal: ended.signal })
  return message
}
