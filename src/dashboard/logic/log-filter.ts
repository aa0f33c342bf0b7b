interface LogFilterOptions {
  /** The rule as in the configuration. Default all. */
  readonly route?: string
  /** Whether 4xx count too. Default false. */
  readonly with4xx?: boolean
}

/**
 * A shell command that finds the failed requests of a time in the gateway's log. `time` is in milliseconds. `httpStatus` is the upstream's,
 * 0 if forwarding failed; `clientStatus` is what the client got, even from the gateway. Lines that are not JSON are skipped.
 */
export function logFilter(from: Date, to: Date, { route, with4xx = false }: LogFilterOptions = {}): string {
  const failed = `(.httpStatus == 0 or .httpStatus >= ${with4xx ? 400 : 500} or .clientStatus >= 500)`
  // In the shell the whole filter is in single quotes.
  const ofRoute = route === undefined ? '' : ` and .route == ${JSON.stringify(route).replaceAll("'", '\\u0027')}`
  return `jq -cR 'fromjson? | select(.time >= ${from.getTime()} and .time < ${to.getTime()} and ${failed}${ofRoute})' tollgate.log`
}
