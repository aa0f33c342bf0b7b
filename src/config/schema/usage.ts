import { parseTimeZone } from '../time-zone.ts'
import { domain } from './domain.ts'
import { duration, or, read, section } from './values.ts'

/** How long usage of users and organisations is kept. */
export const usage = domain(
  section(
    {
      keep: or(duration('0d', '400d'), '35d').describe(
        'How long the use of each day is stored for each user and organisation, for example for bills. A run of the longest window is stored for the same time after its end. 0d stores none',
      ),
      shorter: or(duration('0d', '400d'), '48h').describe(
        'How long a run of all other windows is stored after its end',
      ),
      zone: read('a time zone like Europe/Berlin', parseTimeZone)
        .optional()
        .describe(
          'The time zone of these days, by its IANA name. A date such as 2026-11-29 in a request or a command means a day in this zone. Default time_zone',
        ),
      anonymous: or(duration('0d', '35d'), '0d').describe(
        'How long the runs of callers without a verified credential are stored, who are known by an address or an unverified key. With 0d none are stored, because a stranger can make up any number of keys',
      ),
    },
    'How long the gateway stores what users and organisations used on each day and in each run of a window',
  ),
  { keep: 'keepMs', shorter: 'shorterMs', anonymous: 'anonymousMs' },
)
