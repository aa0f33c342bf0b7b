import { parseTimeZone } from '../time-zone.ts'
import { domain } from './domain.ts'
import { duration, read, section } from './values.ts'

/** How long it is kept what users and organisations used. */
export const usage = domain(
  section(
    {
      keep: duration('0d', '400d', {
        description:
          'How long each day of each user and organisation is kept, and a run of the longest window after its end, 0d to 400d; 0d keeps none. Default 35d',
      }).prefault('35d'),
      shorter: duration('0d', '400d', {
        description: 'How long a run of a window other than the longest is kept after its end, 0d to 400d. Default 48h',
      }).prefault('48h'),
      zone: read('a time zone like Europe/Berlin', parseTimeZone, {
        description: 'IANA time zone whose days are kept, and in which a plain date is meant. Default time_zone',
      }).optional(),
      anonymous: duration('0d', '35d', {
        description:
          'How long runs of callers by an address or by an unverified key are kept, of all windows, 0d to 35d. Default 0d: a stranger can make up as many as it likes',
      }).prefault('0d'),
    },
    'How long is kept what users and organisations used on each day and in each run of a window',
  ),
  { keep: 'keepMs', shorter: 'shorterMs', anonymous: 'anonymousMs' },
)
