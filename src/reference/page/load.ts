import type { Service } from '../selection.ts'
import { type OpenapiDocument, pinned } from './pin.ts'

/** A document that can be shown. */
export interface Loaded {
  readonly document: OpenapiDocument
  /** The only origin that requests go to. */
  readonly origin: string
}

/** Why there is no document, for people. */
export interface Problem {
  readonly what: string
  readonly why: string
  readonly cure: string
}

const PATIENCE_MS = 15_000

/** Reads the description of a service, or finds out why that is not possible. Never rejects. */
export async function loadDocument(service: Service, signal: AbortSignal): Promise<Loaded | Problem> {
  const url = new URL(service.document, location.href)
  const what = `${service.name} cannot be shown.`
  const deadline = AbortSignal.timeout(PATIENCE_MS)
  try {
    const response = await fetch(url, {
      credentials: 'omit',
      cache: 'no-cache',
      headers: { accept: 'application/json' },
      signal: AbortSignal.any([signal, deadline]),
    })
    if (!response.ok) return { what, ...notOk(url, response.status) }
    const document = parse(await response.text())
    return document === null
      ? { what, ...notOpenapi(url, response) }
      : {
          document: pinned(document, url, new URL(service.url, location.href)),
          origin: new URL(service.url, location.href).origin,
        }
  } catch {
    if (deadline.aborted) return { what, ...tooSlow(url) }
    return { what, ...(await unreachable(url)) }
  }
}

function parse(text: string): OpenapiDocument | null {
  try {
    const value: unknown = JSON.parse(text)
    return isOpenapi3(value) ? value : null
  } catch {
    return null
  }
}

function isOpenapi3(value: unknown): value is OpenapiDocument {
  return typeof value === 'object' && value !== null && 'openapi' in value && /^3\./.test(String(value.openapi))
}

type Reason = Omit<Problem, 'what'>

function notOk({ href }: URL, status: number): Reason {
  const cure =
    status >= 500
      ? 'The service has a problem: look at its log, and try again.'
      : 'Check the address of the document in the configuration of the gateway (reference.services).'
  return { why: `${href} answered with status ${status}.`, cure }
}

function notOpenapi({ href }: URL, { headers }: Response): Reason {
  const type = headers.get('content-type')?.split(';')[0] ?? 'something of no type'
  return {
    why: `${href} answered with ${type} that is no OpenAPI 3 document in JSON.`,
    cure: 'Something else may be at this address: check it in the configuration of the gateway (reference.services).',
  }
}

function tooSlow({ href }: URL): Reason {
  return {
    why: `${href} did not answer within ${PATIENCE_MS / 1000} seconds.`,
    cure: 'The service may be overloaded: try again.',
  }
}

/** Finds out why a request failed, as far as possible: a browser does not tell that to a script. */
async function unreachable({ href, origin, protocol }: URL): Promise<Reason> {
  if (location.protocol === 'https:' && protocol === 'http:') {
    return {
      why: `${href} is http, and browsers do not let a page of https ask it.`,
      cure: 'Give the address of the service as https in the configuration of the gateway (reference.services).',
    }
  }
  if (await answersAtAll(href)) {
    return {
      why: `${origin} answers, and does not allow pages of ${location.origin} to read its answers (CORS).`,
      cure: `Let the service allow the origin ${location.origin}.`,
    }
  }
  return {
    why: `${origin} cannot be reached from this browser.`,
    cure: 'The service may be down: start it, and try again.',
  }
}

async function answersAtAll(href: string): Promise<boolean> {
  try {
    await fetch(href, { mode: 'no-cors', credentials: 'omit', signal: AbortSignal.timeout(PATIENCE_MS) })
    return true
  } catch {
    return false
  }
}
