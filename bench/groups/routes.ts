import { noGrowth } from '../figures.ts'
import { sampleTable } from '../report.ts'
import { measureRounds, type Row, rowOf } from '../rows.ts'
import { ratios } from '../statistics.ts'
import { type Bench, type Group, inShortTurns } from './group.ts'
import { shuffled } from './shuffle.ts'

const COUNTS = [10, 1000, 10_000] as const
const REQUESTS = 10_000

/** The same charge with few and with many routes, which are all requested in a random order. */
export const routes: Group = async (bench) => {
  const rows = new Map<number, Row>()
  for (const count of COUNTS) rows.set(count, await routesRow(bench, count))
  const turns = inShortTurns(bench)
  const samples = await measureRounds([...rows.values()], turns)
  const growth = (many: number): number[] => {
    const [of, against] = [many, COUNTS[0]].map((count) => samples.get(rows.get(count) as Row) ?? [])
    return ratios(of ?? [], against ?? [], ({ proxy }) => proxy)
  }
  return {
    title: 'Number of routes',
    intro: `An accepted charge, access log off; CPU for one request, in microseconds, ${turns.rounds} rounds of ${turns.seconds} s:`,
    lines: sampleTable(samples),
    figures: COUNTS.slice(1).map((many) =>
      noGrowth(
        `CPU of the gateway for one request, ${many.toLocaleString('en')} routes against ${COUNTS[0]}`,
        growth(many),
      ),
    ),
  }
}

async function routesRow({ stage, requests }: Bench, count: number): Promise<Row> {
  const [redis, upstream] = [await stage.redis(), await stage.upstream()]
  // As in a real map: some literal segments, and one that is a parameter.
  const all = Array.from({ length: count }, (_, i) => `/v1/service-${i % 100}/thing-${i}`)
  const change = { routes: all.map((path) => ({ match: `GET ${path}/:id`, category: 'read', cost: 1 })) }
  const server = await stage.gateway({ upstream, store: redis, change })
  const credentials = requests.credentials(1000)
  const list = shuffled(
    Array.from({ length: REQUESTS }, (_, i) => ({
      path: `${all[i % count]}/${i}`,
      credential: credentials[i % credentials.length] as string,
    })),
  )
  return rowOf(`${count.toLocaleString('en')} routes`, server, requests.of(list), { redis })
}
