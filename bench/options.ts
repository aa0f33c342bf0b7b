import { parseArgs } from 'node:util'
import { REFERENCE } from './checkout.ts'

export interface Options {
  readonly rounds: number
  readonly seconds: number
  readonly quick: boolean
  readonly write: boolean
  /** Whether an idle core polls, so that it need not be woken. */
  readonly awake: boolean
  /** The only group to run; `null` for all. */
  readonly only: string | null
  /** A commit, or the folder of a checkout. The run only compares this checkout with it. `null`: no comparison. */
  readonly against: string | null
  /** The commit that the group of attacks is compared with. */
  readonly before: string
  /** The row to profile instead of the table; `null` for none. */
  readonly profile: string | null
}

/** The last commit before each address had its share of the turns, and strangers together a share of what is scarce. */
const BEFORE = 'b3e31377'

export interface Choices {
  readonly groups: readonly string[]
  readonly profiles: readonly string[]
}

export const helpOf = ({ groups, profiles }: Choices): string => `npm run bench -- [options]
  --only GROUP   one group: ${groups.join(', ')}.
                 footprint, attacks and decisions run only so: they need what was built, an earlier commit, or the proxies of the guides
  --rounds N     rounds of paired measurements, 1 or more. Default 5
  --seconds N    length of one measurement, 1 or more; a small request and routes take more turns of 1 s. Default 2
  --quick        1 round of 1 second: to see that it works, not to quote
  --awake        keeps cores that idle awake, as root: what waking one costs is then left out. Not with --write
  --write        puts the result into docs/contributing/benchmarks-tables.md too, with --only the section of that group
  --against COMMIT  this checkout against a commit, such as the project's reference ${REFERENCE}, in the same rounds, or against the folder
                 of another checkout with its node_modules
  --before COMMIT  with --only attacks: what this checkout is compared with. Default ${BEFORE}
  --profile ROW  no table, but where the gateway's CPU time goes in ${profiles.join(', ')}`

/** @returns `null` if help is wanted. @throws Error that names a wrong option */
export function optionsOf(args: readonly string[], { groups, profiles }: Choices): Options | null {
  const { values } = parseArgs({
    args: [...args],
    options: {
      only: { type: 'string' },
      against: { type: 'string' },
      before: { type: 'string' },
      rounds: { type: 'string' },
      seconds: { type: 'string' },
      quick: { type: 'boolean', default: false },
      write: { type: 'boolean', default: false },
      awake: { type: 'boolean', default: false },
      profile: { type: 'string' },
      help: { type: 'boolean', short: 'h', default: false },
    },
  })
  if (values.help) return null
  const { quick, write, awake } = values
  const number = (name: 'rounds' | 'seconds', otherwise: number): number => {
    const given = Number(values[name] ?? otherwise)
    if (!Number.isInteger(given) || given < 1) throw new Error(`--${name} takes a whole number from 1`)
    return given
  }
  const oneOf = (name: 'only' | 'profile', known: readonly string[]): string | null => {
    const given = values[name] ?? null
    if (given !== null && !known.includes(given)) throw new Error(`--${name} takes one of ${known.join(', ')}`)
    return given
  }
  const [only, profile] = [oneOf('only', groups), oneOf('profile', profiles)]
  if (write && (quick || profile !== null))
    throw new Error('--write is for what may be quoted: not with --quick or --profile')
  if (write && awake) throw new Error('--write is without --awake: the page has what operators have by default')
  const against = values.against ?? null
  if (against !== null && (only !== null || write)) throw new Error('--against is by itself')
  if (values.before !== undefined && only !== 'attacks') throw new Error('--before is with --only attacks')
  const [rounds, seconds] = quick ? [1, 1] : [5, 2]
  return {
    rounds: number('rounds', rounds),
    seconds: number('seconds', seconds),
    quick,
    write,
    awake,
    only,
    against,
    before: values.before ?? BEFORE,
    profile,
  }
}
