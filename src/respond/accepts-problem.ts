/** Names of media types know no letter case, and a weight of 0 says "not this one" (RFC 9110, 8.3.1 and 12.4.2). */
const ACCEPTS_PROBLEM = /(?:^|,)\s*application\/problem\+json(?![^,]*;\s*q=0(\.0*)?\s*([,;]|$))/i

/** @param accept of the request: whoever accepts it gets a problem of RFC 9457 with the same fields as extensions */
export function acceptsProblem(accept: string | undefined): boolean {
  return accept !== undefined && ACCEPTS_PROBLEM.test(accept)
}
