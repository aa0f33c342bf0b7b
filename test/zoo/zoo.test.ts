import { afterAll, beforeAll, expect, it } from 'vitest'
import { type Asking, CLIENTS, type Client } from './clients.ts'
import { countBefore, nginxBefore, type Peer, tollgateBefore } from './peers.ts'
import { problemOf, SHAPES, type Shape } from './shapes.ts'
import { startUpstreams, type Upstream } from './upstreams.ts'

/**
 * Real clients before real servers, through Tollgate and through nginx, which this is measured by: whatever works through nginx works
 * through Tollgate, or the table of reasons says why not.
 */

/** `CLIENT, UPSTREAM, SHAPE`, where any of them may be `*`, and the reason. */
type Reasons = Readonly<Record<string, string>>

/** Why something does not work through Tollgate, or takes more connections than through nginx. */
const OF_TOLLGATE: Reasons = {
  // Of 600 early responses of uvicorn it lost 5 through Tollgate, and 2 without a proxy. nginx has read the whole upload by then.
  'got, *, early':
    'got ends its connection if the head of a response comes during an upload and its body a moment later',
}

/** Why something does not work through nginx. Whatever else does not shows that nginx is not set up here as it should be. */
const OF_NGINX: Reasons = {
  '*, *, early': 'nginx loses the response of a server that closes over an upload, by chance',
}

/** Tollgate has one try. What goes wrong through nginx alone, which loses early responses by chance, is tried so often. */
const TRIES = 3

interface Pair<T> {
  readonly tollgate: T
  readonly nginx: T
}

interface Behind {
  readonly upstream: Upstream
  readonly peers: Pair<Peer>
}

/** What came of one shape through one peer. */
interface Result {
  /** `null` if it is as it should be. */
  readonly problem: string | null
  /** How many connections it took, of requests that one should be enough for. */
  readonly connections: number
}

const missing: string[] = []
const results = new Map<string, Pair<Result>>()
const upstreams: Upstream[] = []
let zoo: Behind[] = []

beforeAll(async () => {
  await startUpstreams(upstreams, missing)
  zoo = await Promise.all(
    upstreams.map(async (upstream) => ({
      upstream,
      peers: { tollgate: await tollgateBefore(upstream), nginx: await nginxBefore(upstream) },
    })),
  )
}, 300_000)
afterAll(async () => {
  await Promise.all(zoo.flatMap(({ peers }) => [peers.tollgate.stop(), peers.nginx.stop()]))
  console.log(table())
}, 300_000)

async function resultOf(asking: Asking, shape: Shape, peer: Peer): Promise<Result> {
  if (shape !== 'keepalive') return { problem: problemOf(shape, await asking.ask(shape, peer.url)), connections: 1 }
  const counter = await countBefore(peer)
  const problem = problemOf(shape, await asking.ask(shape, counter.url))
  await counter.stop()
  return { problem, connections: counter.count }
}

const isFine = ({ tollgate, nginx }: Pair<Result>): boolean =>
  nginx.problem === null && tollgate.problem === null && tollgate.connections <= nginx.connections

function unlike({ tollgate, nginx }: Pair<Result>): string {
  const through = ({ problem, connections }: Result): string => problem ?? `fine, ${connections} connections`
  return `through Tollgate: ${through(tollgate)}; through nginx: ${through(nginx)}`
}

async function compare(asking: Asking, shape: Shape, { tollgate, nginx }: Pair<Peer>): Promise<Pair<Result>> {
  for (let tries = 1; ; tries++) {
    const pair = { tollgate: await resultOf(asking, shape, tollgate), nginx: await resultOf(asking, shape, nginx) }
    if (tries === TRIES || pair.nginx.problem === null || pair.tollgate.problem !== null) return pair
  }
}

/** @returns what is not as it should be and has no reason; `null` if nothing is */
function unexplained(client: string, upstream: string, shape: Shape, pair: Pair<Result>): string | null {
  const hasReason = (reasons: Reasons): boolean =>
    Object.keys(reasons).some((key) => {
      const names = key.split(', ')
      return [client, upstream, shape].every((name, i) => names[i] === '*' || names[i] === name)
    })
  const { tollgate, nginx } = pair
  const isWorse = tollgate.problem !== null || (nginx.problem === null && tollgate.connections > nginx.connections)
  const isBad = (isWorse && !hasReason(OF_TOLLGATE)) || (nginx.problem !== null && !hasReason(OF_NGINX))
  return isBad ? `${upstream}, ${shape}: ${unlike(pair)}` : null
}

it.each(CLIENTS)(
  'through Tollgate $name gets what it gets through nginx',
  async (client) => {
    const asking = client.start()
    if (asking === null) {
      missing.push(client.name)
      return
    }
    const bad: (string | null)[] = []
    try {
      for (const { upstream, peers } of zoo) {
        for (const shape of client.shapes) {
          if (!upstream.shapes.has(shape)) continue
          const pair = await compare(asking, shape, peers)
          results.set(keyOf(client, upstream, shape), pair)
          bad.push(unexplained(client.name, upstream.name, shape, pair))
        }
      }
    } finally {
      await asking.close()
    }
    expect(bad.filter((text) => text !== null)).toEqual([])
  },
  600_000,
)

const SEPARATOR = ' | '
const keyOf = (client: Client, upstream: Upstream, shape: Shape): string =>
  [client.name, upstream.name, shape].join(SEPARATOR)

/** One line for each client and one column for each upstream, with the letter of each shape that works. */
function table(): string {
  const letters = Object.entries(SHAPES) as [Shape, string][]
  const rows = CLIENTS.map((client) => [
    client.name,
    ...zoo.map(({ upstream }) =>
      letters.map(([shape, letter]) => mark(letter, results.get(keyOf(client, upstream, shape)))).join(''),
    ),
  ])
  const heads = ['', ...zoo.map(({ upstream }) => upstream.name)]
  const widths = heads.map((head, i) => Math.max(head.length, ...rows.map((row) => row[i]?.length ?? 0)))
  const line = (cells: readonly string[]): string =>
    cells
      .map((cell, i) => cell.padEnd(widths[i] ?? 0))
      .join('  ')
      .trimEnd()
  const legend = letters.map(([shape, letter]) => `${letter} ${shape}`).join(', ')
  return [
    'Clients and upstreams, through Tollgate and through nginx',
    line(heads),
    ...rows.map(line),
    `${legend}. A letter: works through both. T: through Tollgate only. N: through nginx only. x: through neither. =: through both, with fewer connections through nginx.`,
    ...problems(),
    `Not here: ${missing.length === 0 ? 'nothing is missing' : missing.join(', ')}.`,
  ].join('\n')
}

function mark(letter: string, pair: Pair<Result> | undefined): string {
  if (pair === undefined) return '·'
  const { tollgate, nginx } = pair
  if (tollgate.problem === null && nginx.problem === null)
    return tollgate.connections > nginx.connections ? '=' : letter
  if (tollgate.problem === null) return 'T'
  return nginx.problem === null ? 'N' : 'x'
}

function problems(): string[] {
  return [...results].flatMap(([key, pair]) => (isFine(pair) ? [] : [`${key}: ${unlike(pair)}`]))
}
