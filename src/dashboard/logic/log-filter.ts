/**
 * A line for a shell that takes the failed requests of a time out of the gateway's log. Its `time` is in milliseconds;
 * `httpStatus` is the upstream's, 0 where forwarding failed. Lines that are not JSON are passed over.
 */
export function logFilter(from: Date, to: Date): string {
  const failed = '(.httpStatus == 0 or .httpStatus >= 500)'
  return `jq -cR 'fromjson? | select(.time >= ${from.getTime()} and .time < ${to.getTime()} and ${failed})' tollgate.log`
}
