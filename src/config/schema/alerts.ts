import { ALERT_KINDS, ALERT_SCOPES, type AlertKeys, type AlertScope, kindOf } from '../../alerts/alert-kinds.ts'
import { parseWebhook, parseWebhookSecret } from '../addresses.ts'
import { quote } from '../problems.ts'
import { PERCENTAGE, parsePercentage } from '../units.ts'
import { choice, integer, list, name, read, section } from './values.ts'

/** Alerts: what is watched, and which webhook is notified. */

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

/** The keys that only one kind of alerts has, each with its name in the file and the scopes of that kind. */
const OWN = ALERT_KINDS.flatMap(({ keys, scopes }) =>
  Object.entries(keys).map(([name, key]) => {
    const only = Object.keys(scopes).join(' and ')
    const inFile = name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
    const { min, max, default: otherwise, means } = key
    const description = `Only for ${only}. ${means}. ${min} to ${max}. Default ${otherwise}`
    return { name, inFile, only, otherwise, value: integer(min, max).optional().describe(description) }
  }),
)

const WATCHED = ALERT_KINDS.flatMap(({ scopes }) =>
  Object.entries(scopes).map(([scope, { watches }]) => `With ${scope} the gateway watches ${watches}`),
)

const shape = {
  name: name.describe(
    'The name of the alert, which appears in events, metrics and the log. Each alert needs a name of its own',
  ),
  scope: choice(ALERT_SCOPES).describe(WATCHED.join('. ')),
  category: name.describe('The category of the window. Leave it out if the scope is no window').optional(),
  window: name.describe('The name of the window, like 1d. Leave it out if the scope is no window').optional(),
  at: list(threshold, 1, 10).describe(
    'The thresholds at which you are notified, as shares of what the scope watches, such as [80%, 100%]. You get one event for each threshold in each run of the window, or in each half hour. 100% is also reached if the window refuses a request',
  ),
  webhook,
}

// The type of an alert lacks the keys of single kinds. Only `keysOf` and `strangeKeys` read them.
export const alert = section(
  { ...shape, ...Object.fromEntries(OWN.map(({ inFile, value }) => [inFile, value])) } as typeof shape,
  'An alert, which sends an event when a threshold is reached',
)

/** Keys of an alert that only other scopes have, each with those scopes. */
export function strangeKeys(written: object, scope: AlertScope): { readonly key: string; readonly only: string }[] {
  const own = kindOf(scope).keys
  return OWN.filter(({ name, inFile }) => !(name in own) && keyIn(written, inFile) !== undefined).map(
    ({ inFile: key, only }) => ({ key, only }),
  )
}

function keysOf(written: object, scope: AlertScope): AlertKeys {
  const own = kindOf(scope).keys
  return Object.fromEntries(
    OWN.map(({ name, inFile, otherwise }) => [name, name in own ? (keyIn(written, inFile) ?? otherwise) : null]),
  ) as AlertKeys
}

function keyIn(written: object, key: string): number | undefined {
  return (written as Readonly<Record<string, number>>)[key]
}

export const alerts = list(alert, 0, 50)
  .transform((all) =>
    all.map(({ name, scope, category = null, window = null, at, webhook, ...own }) => ({
      ...{ name, scope, category, window, ...keysOf(own, scope), webhook },
      at: at.toSorted((a, b) => a - b),
    })),
  )
  .describe(
    'Alerts, which send an event to a webhook when much of a limit is used, or when many requests fail. Default none',
  )
