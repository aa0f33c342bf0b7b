/** Letter case does not matter in names of media types (RFC 9110, 8.3.1). */
const PROBLEM = /application\/problem\+json/i

/**
 * Whether a client gets a problem of RFC 9457, which has the members of the usual body too. It does if it names the type and gives plain
 * JSON no higher weight (RFC 9110, 12.4.2). A range like `application/*` does not name the type, because old clients send that.
 * @param accept of the request
 */
export function acceptsProblem(accept: string | undefined): boolean {
  if (accept === undefined || !PROBLEM.test(accept)) return false
  const weights = weightsIn(accept)
  const problem = weights.get('application/problem+json') ?? 0
  const json = weights.get('application/json') ?? weights.get('application/*') ?? weights.get('*/*') ?? 0
  return problem > 0 && problem >= json
}

/** The highest weight of each range, in lower case, whatever other parameters it has. An invalid or missing weight counts as 1. */
function weightsIn(accept: string): ReadonlyMap<string, number> {
  const weights = new Map<string, number>()
  for (const element of accept.toLowerCase().split(',')) {
    const [range = '', ...parameters] = element.split(';').map((part) => part.trim())
    const weight = parameters.find((parameter) => parameter.startsWith('q='))?.slice(2) ?? '1'
    weights.set(range, Math.max(weights.get(range) ?? 0, WEIGHT.test(weight) ? Number(weight) : 1))
  }
  return weights
}

const WEIGHT = /^(?:0(?:\.\d{0,3})?|1(?:\.0{0,3})?)$/
