import { parseArgs } from 'node:util'

export const HELP = `npm run bench -- [options]
  --rounds N    rounds of paired measurements, 1 or more. Default 9
  --seconds N   length of one measurement, 1 or more. Default 2
  --quick       2 rounds of 1 second: to see that it works, not to quote
  --write       puts the result into docs/benchmarks.md too`

export interface Options {
  readonly rounds: number
  readonly seconds: number
  readonly write: boolean
}

/** @returns `null` where help is asked for. @throws Error that names a wrong option */
export function optionsOf(args: string[]): Options | null {
  const { values } = parseArgs({
    args,
    options: {
      rounds: { type: 'string' },
      seconds: { type: 'string' },
      quick: { type: 'boolean', default: false },
      write: { type: 'boolean', default: false },
      help: { type: 'boolean', short: 'h', default: false },
    },
  })
  if (values.help) return null
  const number = (name: 'rounds' | 'seconds', otherwise: number): number => {
    const given = Number(values[name] ?? otherwise)
    if (!Number.isInteger(given) || given < 1) throw new Error(`--${name} takes a whole number from 1`)
    return given
  }
  const [rounds, seconds] = values.quick ? [2, 1] : [9, 2]
  return { rounds: number('rounds', rounds), seconds: number('seconds', seconds), write: values.write }
}
