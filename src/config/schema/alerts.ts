import { ALERT_SCOPES } from '../../alerts/alert-scopes.ts'
import { parseWebhook, parseWebhookSecret } from '../addresses.ts'
import { quote } from '../problems.ts'
import { PERCENTAGE, parsePercentage } from '../units.ts'
import { choice, integer, list, name, read, section } from './values.ts'

/** Who is notified of what. */

const threshold = read(
  'a percentage like 80%',
  (text) => {
    const reading = parsePercentage(text)
    return 'value' in reading ? reading : { problem: `${quote(text)} ${reading.problem}` }
  },
  PERCENTAGE.source,
).describe('Above 0% and up to 100%')

const webhook = section(
  {
    url: read('http://HOST/PATH or https://HOST/PATH', parseWebhook).describe(
      'Where events are posted to. Redirects are not followed',
    ),
    secret: read('whsec_ and a key in base64', parseWebhookSecret).describe(
      'The key with which the gateway signs events (Standard Webhooks). It is whsec_ followed by 24 to 64 bytes in base64. Take it from the environment',
    ),
  },
  'The webhook to which events are sent, by Standard Webhooks',
)

export const alert = section(
  {
    name: name.describe(
      'The name of the alert, which appears in events, metrics and the log. Each alert needs a name of its own',
    ),
    scope: choice(ALERT_SCOPES).describe(
      'Whose window: of all together, of each organisation, of each user; or failures: the share of 5xx and failed forwards among the forwarded requests of a half hour',
    ),
    category: name.describe('The category of the window. Leave it out for failures').optional(),
    window: name.describe('The name of the window, like 1d. Leave it out for failures').optional(),
    min_requests: integer(1, 1_000_000)
      .optional()
      .describe(
        'Only for failures. How many requests must be forwarded in a half hour before the share of failures is judged. 1 to 1000000. Default 100',
      ),
    at: list(threshold, 1, 10).describe(
      'The thresholds at which you are notified, as shares of the limit or of the requests, such as [80%, 100%]. You get one event for each threshold in each run of the window, or in each half hour. 100% is also reached if the window refuses a request',
    ),
    webhook,
  },
  'An alert, which sends an event when a threshold is reached',
)

export const alerts = list(alert, 0, 50)
  .transform((all) =>
    all.map(({ category = null, window = null, min_requests = 100, at, ...rest }) => ({
      ...rest,
      category,
      window,
      minRequests: rest.scope === 'failures' ? min_requests : null,
      at: at.toSorted((a, b) => a - b),
    })),
  )
  .describe(
    'Alerts, which send an event to a webhook when much of a limit is used, or when many requests fail. Default none',
  )
