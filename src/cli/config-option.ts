import { type ParseArgsConfig, parseArgs } from 'node:util'

/** The configuration file: that of `-c`, or of TOLLGATE_CONFIG, or tollgate.yaml. */
export function configFile(option: string | undefined): string {
  return option ?? process.env.TOLLGATE_CONFIG ?? 'tollgate.yaml'
}

/** The option that every command takes, for `parseArgs`. */
export const CONFIG_OPTION = { config: { type: 'string', short: 'c' } } as const

type Options = NonNullable<ParseArgsConfig['options']>

/** The arguments of a command: its options, and what stands beside them. */
export function readArguments<O extends Options>(args: readonly string[], options: O) {
  return parseArgs({ args: [...args], allowPositionals: true, options })
}

/** The options of a command as they were given, without the one that every command takes. */
export type Given<O extends Options> = Readonly<Omit<ReturnType<typeof readArguments<O>>['values'], 'config'>>
