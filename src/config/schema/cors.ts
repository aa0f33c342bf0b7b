import { parseWebOrigin } from '../addresses.ts'
import { fieldNameProblem } from '../headers.ts'
import type { Reading } from '../units.ts'
import { domain } from './domain.ts'
import { choice, duration, flag, list, or, read, section } from './values.ts'

/** What pages of other origins may do. */

/** The headers of the gateway about the quota and the request. */
const EXPOSED = [
  ...['RateLimit', 'RateLimit-Policy', 'Retry-After', 'X-Quota-Reset', 'X-Request-Id', 'X-Tollgate-Charged'],
  ...['X-Tollgate-Quota-State', 'X-Tollgate-Replay', 'X-Tollgate-Shadow'],
  ...['X-RateLimit-Limit', 'X-RateLimit-Remaining', 'X-RateLimit-Reset'],
]

function parseName(name: string): Reading<string> {
  const problem = fieldNameProblem(name)
  return problem === null ? { value: name } : { problem }
}

const name = read('the name of a header', parseName).describe('Name of a header')

export const cors = domain(
  section(
    {
      origins: list(
        read('an origin like https://app.example.org', parseWebOrigin).describe(
          'An origin as browsers send it, or "*"',
        ),
        1,
        100,
      ).describe(
        'Origins whose pages may read the gateway’s own responses: SCHEME://HOST or SCHEME://HOST:PORT, compared letter by letter; or "*" alone, any',
      ),
      credentials: or(flag(), false).describe(
        'Whether pages of these origins may send cookies and read the response. It cannot be true together with "*"',
      ),
      expose: list(name, 0, 100)
        .default(EXPOSED)
        .describe(
          `Response headers that their scripts may read, of the upstream’s responses too where these allow an origin. Default ${EXPOSED.join(', ')}`,
        ),
      preflight: or(choice(['forward', 'answer']), 'forward').describe(
        'Who responds to a preflight request of a browser. With forward the upstream responds, and with answer the gateway does, by the methods of the rules. A preflight needs no credential and is free',
      ),
      allow_headers: list(name, 0, 100)
        .optional()
        .describe(
          'Request headers that pages may send, if the gateway itself responds to the preflight. Default those that they ask for',
        ),
      max_age: or(duration('0s', '24h'), '5m').describe(
        'How long browsers may remember the response of the gateway to a preflight',
      ),
    },
    'Lets web pages of other origins read the responses of the gateway in a browser (CORS). Default off',
    'a map like { origins: [https://app.example.org] }',
  ),
  { max_age: 'maxAgeMs' },
)
