interface LogFilterOptions {
  /** The rule as the configuration has it. Default all. */
  readonly route?: string
  /** 4xx too. Default false. */
  readonly with4xx?: boolean
}

/**
 * A line for a shell that takes the failed requests of a time out of the gateway's log. Its `time` is in milliseconds;
 * `httpStatus` is the upstream's, 0 where forwarding failed; `clientStatus` is what the client got, also of the gateway itself. Lines that are not JSON are passed over.
 */
export function logFilter(from: Date, to: Date, { route, with4xx = false }: LogFilterOptions = {}): string {
  const failed = `(.httpStatus == 0 or .httpStatus >= ${with4xx ? 400 : 500} or .clientStatus >= 500)`
  // The shell has the whole in single quotes.
  const ofRoute = route === undefined ? '' : ` and .route == ${JSON.stringify(route).replaceAll("'", '\\u0027')}`
  return `jq -cR 'fromjson? | select(.time >= ${from.getTime()} and .time < ${to.getTime()} and ${failed}${ofRoute})' tollgate.log`
}
