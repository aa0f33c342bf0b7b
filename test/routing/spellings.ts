import { spawn } from 'node:child_process'
import { once } from 'node:events'
import http from 'node:http'
import { createInterface } from 'node:readline'
import fc from 'fast-check'
import { expect } from 'vitest'
import { planRulesOf } from '../../src/app/plan-rules.ts'
import { parseConfig } from '../../src/config/load.ts'
import { plan } from '../../src/gateway/plan.ts'

/** A service with two dear paths, and all others for one. */
export interface Service {
  readonly name: string
  /** Of `edge.match`. */
  readonly match: { readonly case?: 'fold'; readonly trailing_slash?: 'ignore' }
  readonly start: () => Promise<{ readonly port: number; stop(): Promise<void> }>
}

const DEAR = ['/v1/kiss', '/v1/user/bob/pay']
const COST = 15

/** A program that prints its port. */
export async function run(command: string, ...args: string[]) {
  const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'ignore'], detached: true })
  const exited = once(child, 'exit')
  const [port] = await Promise.race([once(createInterface(child.stdout), 'line'), exited.then(() => ['0'])])
  const stop = async () => {
    // `go run` has the service as its child.
    if (child.pid !== undefined && child.exitCode === null) process.kill(-child.pid)
    await exited
  }
  return { port: Number(port), stop }
}

/** What the gateway makes of a target: its cost and what is forwarded; `null` if it refuses it. */
async function gateway(match: Service['match']) {
  const text = `
upstream: { url: http://127.0.0.1:9000 }
edge: { match: ${JSON.stringify(match)}, lenient: [non_utf8_path] }
routes:
  - { match: "* /v1/kiss", category: read, cost: ${COST} }
  - { match: "* /v1/user/:id/pay", category: read, cost: ${COST} }
  - { match: "* /*", category: read, cost: 1 }`
  const loaded = parseConfig(text, 'tollgate.yaml', {})
  if (!loaded.ok) throw new Error(JSON.stringify(loaded.problems))
  const rules = await planRulesOf(loaded.config)
  return (target: string) => {
    const planned = plan(rules, {
      method: 'GET',
      target,
      bodyBytes: 0,
      isUpgrade: false,
      isLastHop: false,
      preflight: null,
    })
    if (planned.kind !== 'route' || planned.route.tariff?.price.kind !== 'fixed') return null
    return { cost: planned.route.tariff.price.cost, forwarded: planned.target.path + planned.target.query }
  }
}

/** What servers fold away, take for another character, or trip over. */
const PIECE = fc.constantFrom(
  ...['/', '//', '/.', '/..', '/./', '/../', '.', '..', '...', '%2e', '%20', '+', '%09', '%00', '%0a', '%0d', '%a0'],
  ...[
    '%c2%a0',
    ';',
    ';a=b',
    '%3b',
    '%2f',
    '%5c',
    '%3f',
    '%23',
    '?',
    '?a',
    '%25',
    '%2561',
    '%c0%af',
    '%c0%ae',
    '%u002e',
  ],
  ...['%e2%84%aa', '%c5%bf', '%ef%bd%8b', '%e2%80%8b', '%cc%81', '::$DATA', '~', '%7e', '*', ':', '@', 'x'],
)

type Change = (path: string) => string

const CHANGE: fc.Arbitrary<Change> = fc.oneof(
  fc.nat(20).map(
    (at): Change =>
      (path) =>
        path.slice(0, at) + path.slice(at, at + 1).toUpperCase() + path.slice(at + 1),
  ),
  fc.nat(20).map(
    (at): Change =>
      (path) => {
        const code = path.charCodeAt(at)
        return Number.isNaN(code) ? path : `${path.slice(0, at)}%${code.toString(16)}${path.slice(at + 1)}`
      },
  ),
  fc.tuple(fc.nat(20), PIECE).map(
    ([at, piece]): Change =>
      (path) =>
        path.slice(0, at) + piece + path.slice(at),
  ),
  fc.tuple(fc.nat(20), PIECE).map(
    ([at, piece]): Change =>
      (path) =>
        path.slice(0, at) + piece + path.slice(at + 1),
  ),
  PIECE.map(
    (piece): Change =>
      (path) =>
        path + piece,
  ),
  PIECE.map(
    (piece): Change =>
      (path) =>
        path.replace(/(?=\/[^/]*$)/, piece),
  ),
  fc.constantFrom<Change>(
    (path) => path.toUpperCase(),
    (path) => `${path}/`,
    (path) => `/x/..${path}`,
  ),
)

const SPELLING = fc
  .tuple(fc.constantFrom(...DEAR), fc.array(CHANGE, { minLength: 1, maxLength: 4 }))
  .map(([path, changes]) => changes.reduce((text, change) => change(text), path))

const KNOWN = DEAR.flatMap((path) => [
  ...[path, path.toUpperCase(), `${path}/`, `${path}//`, `${path}.`, `${path}%20`, `${path}%00`, `${path};x`],
  ...[`/${path}`, path.replace('v1', '%561'), path.replace('k', '%4b'), path.replace('k', '%e2%84%aa')],
  ...[path.replace('s', '%c5%bf'), path.replace('/v1', '/V1/.'), `${path}?x=/`, `${path}%2f`, `${path}%3f`],
])

const RUNS = Number(process.env.TOLLGATE_SPELLINGS ?? 500)
const agent = new http.Agent({ keepAlive: true, maxSockets: 1 })

async function ask(port: number, path: string): Promise<string> {
  const req = http.get({ host: '127.0.0.1', port, path, agent })
  const [res] = await once(req, 'response')
  let body = ''
  for await (const chunk of res) body += chunk
  return res.statusCode === 200 ? body : String(res.statusCode)
}

/** The service takes no spelling for a dear path that costs less, and without `edge.match` it does, if it folds. */
export async function expectNoCheaperSpelling({ match, start }: Service): Promise<void> {
  const service = await start()
  try {
    const [folding, exact] = [await gateway(match), await gateway({})]
    let [dear, dodged] = [0, 0]
    const judge = async (target: string) => {
      const ours = folding(target)
      const before = exact(target)
      if (ours === null && before === null) return
      const isDear = (await ask(service.port, (ours ?? before)?.forwarded ?? '')) === 'dear'
      if (isDear && ours !== null) expect({ target, cost: ours.cost }).toEqual({ target, cost: COST })
      if (isDear && !DEAR.includes(target)) dear++
      if (isDear && before !== null && before.cost < COST) dodged++
    }
    for (const target of KNOWN) await judge(target)
    await fc.assert(fc.asyncProperty(SPELLING, judge), { numRuns: RUNS })
    // Or it says nothing.
    expect(dear).toBeGreaterThan(RUNS / 100)
    if (Object.keys(match).length > 0) expect(dodged).toBeGreaterThan(0)
    else expect(dodged).toBe(0)
  } finally {
    await service.stop()
  }
}
