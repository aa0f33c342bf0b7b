import { parseArgs } from 'node:util'
import { WAYS } from '../setup/ways.ts'
import { runIntegrity } from './integrity.ts'
import { describeBad } from './records.ts'

/**
 * npm run integrity -- --seconds 120              worlds by chance, over all four ways
 * npm run integrity -- --seconds 120 --seed 7     the worlds of that seed
 * npm run integrity -- --seed 7 --world 12        one of them
 */
const { values } = parseArgs({
  options: { seconds: { type: 'string', default: '60' }, seed: { type: 'string' }, world: { type: 'string' } },
})
const seed = Number(values.seed ?? Date.now() % 1_000_000)
const seconds = Number(values.seconds)
console.log(`seed ${seed}`)
const sums = await runIntegrity({
  seed,
  seconds,
  ...(values.world !== undefined && { world: Number(values.world) }),
  onBad: (bad) => console.log(describeBad(bad)),
})
for (const way of WAYS) {
  const { worlds, responses, bytes, bad } = sums.get(way.name) ?? { worlds: 0, responses: 0, bytes: 0, bad: 0 }
  const figures = [`${worlds} worlds`, `${responses} responses`, `${(bytes / 1e6).toFixed(1)} MB`, `${bad} bad`]
  console.log(`${way.name}: ${figures.join(', ')}`)
}
process.exitCode = [...sums.values()].some(({ bad }) => bad > 0) ? 1 : 0
