import { z } from 'zod'
import { parseWebhook } from '../addresses.ts'
import { headers } from './upstream.ts'
import { flag, or, read, section, wanted } from './values.ts'

/** Where spans go, and which requests have one. */

/** An address without a path is that of a collector, which takes spans at the path that OTLP prescribes. */
const collector = read('the address of a collector, like http://collector:4318', (text) => {
  const reading = parseWebhook(text)
  if ('problem' in reading) return reading
  const url = new URL(reading.value)
  if (url.pathname === '/') url.pathname = '/v1/traces'
  return { value: url.href }
}).describe(
  'The address of a collector that accepts OTLP over HTTP, like http://collector:4318. Without a path, spans are sent to /v1/traces. The gateway does not follow redirects',
)

const outOfRange = {
  error: 'is out of range: write parent, or a number from 0 to 1, of which 0.01 is one trace in a hundred',
}

const sample = z
  .union([z.literal('parent'), z.number().min(0, outOfRange).max(1, outOfRange)], {
    error: ({ input }) => wanted('parent, or a number from 0 to 1, like 0.01', input),
  })
  .describe(
    'Which requests have a span. With parent, the flag in the traceparent of a request decides, and requests without traceparent have a span. With a number from 0 to 1, this share of the traces has spans, whatever the flags say. Default parent',
  )

export const telemetry = section(
  {
    otlp: collector,
    sample: sample.default('parent'),
    headers: headers
      .prefault({})
      .describe('Headers for the collector, for example Authorization with a token. Default none'),
    user: or(flag(), false).describe('Whether a span contains the user, which is personal data'),
  },
  'Sends a span for each request to an OpenTelemetry collector. Default none',
)
