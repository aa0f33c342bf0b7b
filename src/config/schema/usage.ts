import { parseTimeZone } from '../time-zone.ts'
import { domain } from './domain.ts'
import { duration, read, section } from './values.ts'

/** How long it is kept what users and organisations used. */
export const usage = domain(
  section(
    {
      keep: duration('0d', '400d')
        .prefault('35d')
        .describe(
          'How long each day of each user and organisation is kept, and a run of the longest window after its end, 0d to 400d; 0d keeps none. Default 35d',
        ),
      shorter: duration('0d', '400d')
        .prefault('48h')
        .describe('How long a run of a window other than the longest is kept after its end, 0d to 400d. Default 48h'),
      zone: read('a time zone like Europe/Berlin', parseTimeZone)
        .optional()
        .describe('IANA time zone whose days are kept, and in which a plain date is meant. Default time_zone'),
      anonymous: duration('0d', '35d')
        .prefault('0d')
        .describe(
          'How long runs of callers by an address or by an unverified key are kept, of all windows, 0d to 35d. Default 0d: a stranger can make up as many as it likes',
        ),
    },
    'How long is kept what users and organisations used on each day and in each run of a window',
  ),
  { keep: 'keepMs', shorter: 'shorterMs', anonymous: 'anonymousMs' },
)
