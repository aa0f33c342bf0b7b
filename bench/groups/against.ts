import { type Checkout, REFERENCE } from '../checkout.ts'
import { sampleTable } from '../report.ts'
import { measureRounds, type Row, rowOf } from '../rows.ts'
import { paired, ratios } from '../statistics.ts'
import { type Bench, type Group, inShortTurns } from './group.ts'

const PATHS = { 'refusal (429)': '/spent', 'bare forward': '/public', 'accepted charge': '/read' } as const
type Kind = keyof typeof PATHS

/** The most microseconds that Redis may need more for one charge: about a tenth of its cost. */
const MORE_REDIS = 0.3

/** This checkout against another one, such as the reference of the project, in the same rounds. */
export function against(other: Checkout): Group {
  return async function measureAgainst(bench) {
    const [here, there] = [await rowsOf(bench, 'here'), await rowsOf(bench, 'there', other.folder)]
    const kinds = Object.keys(PATHS) as Kind[]
    const turns = inShortTurns(bench)
    const samples = await measureRounds(
      kinds.flatMap((kind) => [here[kind], there[kind]]),
      turns,
    )
    return {
      title: `Against ${other.name}`,
      intro: `There is ${other.name}. Access log off; CPU for one request, in microseconds, ${turns.rounds} rounds of ${turns.seconds} s:`,
      lines: sampleTable(samples),
      figures: [
        ...kinds.map((kind) => ({
          name: `${kind}, CPU of the gateway here against there`,
          unit: 'x' as const,
          values: ratios(samples.get(here[kind]) ?? [], samples.get(there[kind]) ?? [], ({ proxy }) => proxy),
          // Runs of the same thing differ by some percent. The reference may not be exceeded at all.
          target: { atMost: other.name.startsWith(REFERENCE) ? 1 : 1.05 },
        })),
        {
          name: 'accepted charge, CPU of Redis here less there',
          unit: 'us',
          values: paired(
            samples.get(here['accepted charge']) ?? [],
            samples.get(there['accepted charge']) ?? [],
            (one, other) => one.redis - other.redis,
          ),
          target: { atMost: MORE_REDIS },
        },
      ],
    }
  }
}

async function rowsOf({ stage, requests }: Bench, where: string, checkout?: string): Promise<Record<Kind, Row>> {
  const [redis, upstream] = [await stage.redis(), await stage.upstream()]
  const server = await stage.gateway({ upstream, store: redis, ...(checkout !== undefined && { checkout }) })
  const row = (kind: Kind): Row =>
    rowOf(`${kind}, ${where}`, server, requests.byUsers('GET', PATHS[kind]), {
      redis,
      refused: kind === 'refusal (429)',
    })
  return {
    'refusal (429)': row('refusal (429)'),
    'bare forward': row('bare forward'),
    'accepted charge': row('accepted charge'),
  }
}
