import { domain } from './domain.ts'
import { flag, section } from './values.ts'

/** What the gateway says to everybody. */
export const published = domain(
  section(
    {
      failure_rate: flag({
        description:
          'Whether GET /usage/failure-rate says how many requests were forwarded in 7 days and how many failed. Default false',
      }).default(false),
      prices: flag({
        description: 'Whether GET /quota/prices says what each route costs, and the limits. Default false',
      }).default(false),
    },
    'What everybody may read without a credential. Default nothing',
  ),
  {},
)
