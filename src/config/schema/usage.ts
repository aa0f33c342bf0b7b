import { domain } from './domain.ts'
import { duration, section } from './values.ts'

/** How long it is kept what users and organisations used. */
export const usage = domain(
  section(
    {
      keep: duration('0d', '400d', {
        description:
          'How long after its end a run of the longest window is kept, 0d to 400d; 0d keeps none. Default 35d',
      }).prefault('35d'),
      shorter: duration('0d', '400d', {
        description: 'The same of the other windows, 0d to 400d. Default 48h',
      }).prefault('48h'),
      anonymous: duration('0d', '35d', {
        description:
          'The same of all windows of callers by an address or by an unverified key, 0d to 35d. Default 0d: a stranger can make up as many as it likes',
      }).prefault('0d'),
    },
    'How long is kept what users and organisations used in each run of a window',
  ),
  { keep: 'keepMs', shorter: 'shorterMs', anonymous: 'anonymousMs' },
)
