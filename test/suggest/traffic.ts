/** An hour of traffic that looks random and is the same each time. */

export interface Request {
  /** Milliseconds since the epoch. */
  readonly at: number
  readonly user: string | null
  readonly address: string
  readonly method: string
  /** With its query. */
  readonly path: string
  /** The rule of the gateway that it would have matched. */
  readonly rule: string
  /** What the service took. */
  readonly ms: number
}

const START = Date.UTC(2026, 10, 26, 10)
const HOUR_MS = 3_600_000

export function randomNumbers(seed: number): (below: number) => number {
  let state = seed
  return (below) => {
    state = (state * 48_271) % 2_147_483_647
    return state % below
  }
}

type Random = ReturnType<typeof randomNumbers>
type Kind = (random: Random) => Pick<Request, 'method' | 'path' | 'rule' | 'ms'>

const hex = (random: Random, length: number): string =>
  Array.from({ length }, (_, i) => (i === 0 ? '9' : random(16).toString(16))).join('')

const KINDS: readonly Kind[] = [
  (random) => ({ method: 'GET', path: `/users/${random(9000)}`, rule: 'GET /users/:id', ms: 20 + random(10) }),
  (random) => ({
    method: 'GET',
    path: `/users/${random(9000)}/orders/${hex(random, 24)}?full=1`,
    rule: 'GET /users/:id/orders/:order',
    ms: 22 + random(10),
  }),
  (random) => ({ method: 'POST', path: `/users/${random(9000)}/orders`, rule: 'POST /users/:id/orders', ms: 60 }),
  (random) => ({ method: 'GET', path: `/search?q=${random(99)}`, rule: 'GET /search', ms: 240 + random(20) }),
  (random) => ({
    method: random(9) === 0 ? 'DELETE' : 'GET',
    path: `/files${Array.from({ length: 1 + random(5) }, () => `/part${String.fromCharCode(97 + random(26), 97 + random(26))}`).join('')}`,
    rule: 'GET|DELETE /files/*',
    ms: 25,
  }),
  (random) => ({ method: 'GET', path: random(2) === 0 ? '/' : '/robots.txt', rule: 'GET /*', ms: 2 }),
]

/** Few users do much, and one in thirty requests is by one of three who do very much. */
export function hourOf(users: number, requests: number, seed = 7): Request[] {
  const random = randomNumbers(seed)
  return Array.from({ length: requests }, (_, i) => {
    const number = random(30) === 0 ? random(3) : Math.min(random(users), random(users))
    const kind = KINDS[Math.min(random(KINDS.length), random(KINDS.length + 1))] as Kind
    return {
      at: START + Math.floor((i * HOUR_MS) / requests),
      user: number % 10 === 9 ? null : `user-${number}`,
      address: `192.0.2.${number % 250}`,
      ...kind(random),
    }
  })
}

const MONTH = 'Nov'

export function combinedLine({ at, user, address, method, path }: Request): string {
  const [, day, time] = /^\d{4}-\d\d-(\d\d)T([\d:]{8})/.exec(new Date(at).toISOString()) ?? []
  return `${address} - ${user ?? '-'} [${day}/${MONTH}/2026:${time} +0000] "${method} ${path} HTTP/1.1" 200 12 "-" "curl"`
}

export function envoyLine({ at, address, method, path, ms }: Request): string {
  return `[${new Date(at).toISOString()}] "${method} ${path} HTTP/1.1" 200 - 0 12 ${ms} ${ms} "${address}" "curl" "r" "h" "u"`
}

export function ownLine({ at, user, address, method, rule, ms }: Request): string {
  return JSON.stringify({
    level: 30,
    time: at + ms,
    requestId: 'r',
    user: user ?? `address:${address}`,
    method,
    route: rule,
    cost: 1,
    charged: 1,
    outcome: 'forwarded',
    httpStatus: 200,
    clientStatus: 200,
    durationMs: ms,
    decidedAt: at,
    msg: 'request',
  })
}
