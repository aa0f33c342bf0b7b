import { domain } from './domain.ts'
import { flag, section } from './values.ts'

/** What the gateway says to everybody. */
export const published = domain(
  section(
    {
      failure_rate: flag()
        .default(false)
        .describe(
          'Whether GET /usage/failure-rate says how many requests were forwarded in 7 days and how many failed. Default false',
        ),
      prices: flag()
        .default(false)
        .describe('Whether GET /quota/prices says what each route costs, and the limits. Default false'),
    },
    'What everybody may read without a credential. Default nothing',
  ),
  {},
)
