/** The configuration file: that of `-c`, or of TOLLGATE_CONFIG, or tollgate.yaml. */
export function configFile(option: string | undefined): string {
  return option ?? process.env.TOLLGATE_CONFIG ?? 'tollgate.yaml'
}

/** The option that every command takes, for `parseArgs`. */
export const CONFIG_OPTION = { config: { type: 'string', short: 'c' } } as const
