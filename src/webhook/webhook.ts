import { Webhook } from 'standardwebhooks'
import type { TakenEvent } from '../alerts/alert-store.ts'
import { ATTEMPT_MS, type Delivery } from '../alerts/courier.ts'
import { messageOf } from '../errors.ts'
import { post } from '../lib/http-post.ts'
import { version } from '../lib/version.ts'
import { eventBody } from './event.ts'

/** Posts events to one receiver, signed as Standard Webhooks has it. */

export interface Receiver {
  /** Never in an error: its path may be a secret. */
  readonly url: string
  /** whsec_ and a key in base64. */
  readonly secret: string
}

/** Of a response that is no success: enough to see what the receiver says. */
const KEEP_BYTES = 200
const GONE = 410

/** One attempt. Never rejects. @param deadlineMs default ATTEMPT_MS */
export async function deliver(
  { url, secret }: Receiver,
  event: Pick<TakenEvent, 'id' | 'happening'>,
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
  try {
    const response = await post({ url: new URL(url), headers, body, deadlineMs, keepBytes: KEEP_BYTES, signal })
    return deliveryOf(response.status, response.text)
  } catch (error) {
    return { kind: 'failed', error: oneLine(messageOf(error)) }
  }
}

function deliveryOf(status: number, text: string): Delivery {
  if (status >= 200 && status < 300) return { kind: 'delivered' }
  if (status === GONE) return { kind: 'refused', error: 'the receiver wants no more of it (410)' }
  if (status >= 300 && status < 400) return { kind: 'failed', error: `a redirect (${status}), which is not followed` }
  const said = oneLine(text)
  return { kind: 'failed', error: said === '' ? `status ${status}` : `status ${status}: ${said}` }
}

/** Of somebody else's text, for the log and for people. */
function oneLine(text: string): string {
  return text
    .replace(/[\p{C}\s]+/gu, ' ')
    .trim()
    .slice(0, KEEP_BYTES)
}
