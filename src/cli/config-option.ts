import { type ParseArgsConfig, parseArgs } from 'node:util'

/** The configuration file: from `-c`, or from TOLLGATE_CONFIG, or tollgate.yaml. */
export function configFile(option: string | undefined): string {
  return option ?? process.env.TOLLGATE_CONFIG ?? 'tollgate.yaml'
}

/** The option that every command takes, for `parseArgs`. */
export const CONFIG_OPTION = { config: { type: 'string', short: 'c' } } as const

type Options = NonNullable<ParseArgsConfig['options']>

/** The options of a command and its other arguments. */
export function readArguments<O extends Options>(args: readonly string[], options: O) {
  return parseArgs({ args: [...args], allowPositionals: true, options })
}

/** The options of a command, without the one that every command has. */
export type Given<O extends Options> = Readonly<Omit<ReturnType<typeof readArguments<O>>['values'], 'config'>>
