import { join } from 'node:path'
import { saturate } from '../load.ts'
import { type Backends, type Peer, peersOf } from '../peers/peers.ts'
import { measureRates, rateTables } from '../rates.ts'
import { sampleTable, table } from '../report.ts'
import { measureRounds, type Row } from '../rows.ts'
import { askRedis, type Running } from '../servers.ts'
import type { Bench, Group } from './group.ts'

/** Requests a second. */
const RATES = [500, 2000, 5000]

/** What one would use instead, side by side. A peer that cannot be had here is left out. */
export const peers: Group = async (bench) => {
  const { stage } = bench
  const backends = { upstream: await stage.upstream(), redis: await stage.redis() }
  const own = await gatewayRows(bench, backends)
  const rows = new Map<Peer, Row>()
  const absent = await eachPeer(bench, async (peer) => {
    rows.set(peer, await rowOf(bench, peer, backends))
  })
  const all = [...own, ...rows.values()]
  return {
    title: 'Peers',
    lines: [
      `Access log off; CPU for one request, in microseconds; at saturation, ${bench.rounds} rounds of ${bench.seconds} s:`,
      '',
      ...sampleTable(await measureRounds(all, bench)),
      '',
      'At fixed rates, as in the section of those:',
      '',
      ...rateTables(await measureRates(all, RATES, bench)),
      '',
      'What a peer does less than the gateway, which verifies a JWT and charges six windows, all or none:',
      '',
      ...table(
        ['Peer', 'What it does less'],
        [...rows.keys()].map(({ name, less }) => [name, less]),
      ),
      ...absent.flatMap((line) => ['', line]),
    ],
    figures: [],
  }
}

/** @returns a line for each peer that is left out, and why */
export async function eachPeer(bench: Bench, action: (peer: Peer) => Promise<void>): Promise<string[]> {
  const absent: string[] = []
  for (const peer of peersOf(bench)) {
    try {
      peer.prepare()
      await action(peer)
    } catch (error) {
      const why = error instanceof Error ? error.message.trim().split('\n').at(-1) : String(error)
      absent.push(`${peer.name} is left out: ${why}`)
      process.stderr.write(`bench: ${absent.at(-1)}\n`)
    }
  }
  return absent
}

async function gatewayRows(bench: Bench, backends: Backends): Promise<Row[]> {
  const own = await rowsOfCheckout(bench, backends, 'Tollgate')
  const { against: checkout } = bench
  return checkout === null ? own : [...own, ...(await rowsOfCheckout(bench, backends, 'Tollgate before', { checkout }))]
}

async function rowsOfCheckout(
  { stage, requests }: Bench,
  { upstream, redis }: Backends,
  name: string,
  of: { readonly checkout?: string } = {},
): Promise<Row[]> {
  const file = join(stage.folder('sqlite'), 'tollgate.db')
  const read = requests.byUsers('GET', '/read')
  const shared = await stage.gateway({ upstream, store: redis, log: false, ...of })
  const embedded = await stage.gateway({ upstream, store: `sqlite:${file}`, log: false, ...of })
  return [
    { name: `${name}, Redis`, server: shared, redis, load: { port: shared.port, requests: read } },
    { name: `${name}, embedded store`, server: embedded, load: { port: embedded.port, requests: read } },
  ]
}

/** @throws Error if it does not forward and count what it shall */
async function rowOf({ requests }: Bench, peer: Peer, backends: Backends): Promise<Row> {
  const started = await peer.start(backends)
  const load = { port: started.server.port, requests: requests.byUsers('GET', '/read') }
  const before = started.redis && commandsOf(started.redis)
  const { requests: sent, refused, broken } = await saturate(load, 1)
  if (sent === 0 || refused + broken > sent / 100) {
    throw new Error(`${refused + broken} of ${sent} requests were not answered with 200`)
  }
  if (started.redis !== undefined && commandsOf(started.redis) - (before ?? 0) < sent / 2) {
    throw new Error('it forwards without counting in Redis')
  }
  return { name: peer.name, load, ...started }
}

const commandsOf = ({ port }: Running): number =>
  Number(/^total_commands_processed:(\d+)/m.exec(askRedis(port, 'INFO', 'stats'))?.[1])
