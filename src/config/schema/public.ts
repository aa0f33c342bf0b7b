import { domain } from './domain.ts'
import { flag, or, section } from './values.ts'

/** What the gateway publishes for everybody. */
export const published = domain(
  section(
    {
      failure_rate: or(flag(), false).describe(
        'Whether anybody may read at GET /usage/failure-rate how many requests were forwarded in the last 7 days and how many of them failed',
      ),
      prices: or(flag(), false).describe(
        'Whether anybody may read at GET /quota/prices what each route costs, and the limits',
      ),
    },
    'Documents that anybody may read without a credential. Default nothing',
  ),
  {},
)
