import { Webhook } from 'standardwebhooks'
import { ATTEMPT_MS, type Delivery } from '../alerts/courier.ts'
import { messageOf } from '../errors.ts'
import { post } from '../lib/http-client.ts'
import { version } from '../lib/version.ts'
import { eventBody, type SentEvent } from './event.ts'
import { hidePath } from './hide-path.ts'

/** Posts events to one receiver, signed as Standard Webhooks demands. */

export interface Receiver {
  /** The URL never appears in an error, because its path may be a secret. */
  readonly url: string
  /** `whsec_` and a key in base64. */
  readonly secret: string
}

/** Characters of a failed response that are shown: enough to see the receiver's message. */
const SHOWN = 200
/** Bytes of a response that are searched for parts to hide. There are more than are shown, because a part that is cut off is not found. */
const KEEP_BYTES = 4096
const GONE = 410

/** Makes one attempt. Never rejects. @param deadlineMs default ATTEMPT_MS */
export async function deliver(
  { url, secret }: Receiver,
  event: SentEvent,
  signal: AbortSignal,
  deadlineMs = ATTEMPT_MS,
): Promise<Delivery> {
  const body = eventBody(event)
  const now = new Date()
  const headers = {
    'content-type': 'application/cloudevents+json; charset=utf-8',
    'user-agent': `tollgate/${version}`,
    'webhook-id': event.id,
    'webhook-timestamp': String(Math.floor(now.getTime() / 1000)),
    'webhook-signature': new Webhook(secret).sign(event.id, now, body),
  }
  const to = new URL(url)
  try {
    const response = await post({ url: to, headers, body, deadlineMs, keepBytes: KEEP_BYTES, signal })
    return deliveryOf(response.status, oneLine(response.text, to))
  } catch (error) {
    return { kind: 'failed', error: oneLine(messageOf(error), to) }
  }
}

function deliveryOf(status: number, said: string): Delivery {
  if (status >= 200 && status < 300) return { kind: 'delivered' }
  if (status === GONE) return { kind: 'refused', error: 'the receiver wants no more of it (410)' }
  if (status >= 300 && status < 400) return { kind: 'failed', error: `a redirect (${status}), which is not followed` }
  return { kind: 'failed', error: said === '' ? `status ${status}` : `status ${status}: ${said}` }
}

/** A text of somebody else on one line, for the log and for people. */
function oneLine(text: string, to: URL): string {
  return hidePath(text, to)
    .replace(/[\p{C}\s]+/gu, ' ')
    .trim()
    .slice(0, SHOWN)
}
