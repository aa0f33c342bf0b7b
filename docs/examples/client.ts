/**
 * A client of a service behind Tollgate that waits as it is told. Node's fetch, nothing else.
 *
 *   node client.ts METHOD PATH [BODY]     with TOLLGATE_URL and TOLLGATE_TOKEN in the environment
 */

export interface ClientOptions {
  /** Address of the gateway, such as `https://api.example.org`. */
  readonly url: string
  /** The Bearer credential. */
  readonly token: string
  /** The longest that a call may take with all its waiting, in seconds. Default 60. */
  readonly patience?: number
  /** The most requests for one call. Default 5. */
  readonly maxTries?: number
  /** The longest that one request may take, in seconds. Default 60. */
  readonly timeout?: number
  /** Resolves after so many seconds. Default: a timer. */
  readonly sleep?: (seconds: number) => Promise<void>
  /** Seconds from any fixed moment. Default: those since the process began, which no change of the clock moves. */
  readonly now?: () => number
  /** From 0 to below 1. Default `Math.random`. */
  readonly random?: () => number
}

export interface Request {
  /** Default GET. */
  readonly method?: string
  readonly path: string
  /** Sent as JSON. */
  readonly body?: string
  /** Further fields, such as `Idempotency-Key`. */
  readonly headers?: Readonly<Record<string, string>>
  /** Whether the service may get it twice. Default: only GET, HEAD and OPTIONS. */
  readonly repeatable?: boolean
}

export interface Answer {
  readonly status: number
  readonly headers: Headers
  readonly body: string
}

/** Refusals of the gateway itself: the service has certainly not seen the request. */
const NEVER_FORWARDED = new Set(['quota_exceeded', 'too_many_in_flight', 'overloaded', 'store_unavailable'])
/** The service may have had the request, and may have acted on it. */
const PERHAPS_FORWARDED = new Set([502, 503, 504])

/** @returns a function that makes a call: it gives the last answer, also a refusal, and rejects where there was none */
export function createClient(options: ClientOptions): (request: Request) => Promise<Answer> {
  const { url, token, patience = 60, maxTries = 5, timeout = 60 } = options
  const { random = Math.random, sleep = timer, now = () => performance.now() / 1000 } = options

  return async function call(request) {
    const { method = 'GET', repeatable = ['GET', 'HEAD', 'OPTIONS'].includes(method) } = request
    const giveUpAt = now() + patience
    for (let tries = 1; ; tries++) {
      const outcome = await send(request, method).catch((error: unknown) => ({ error }))
      const wait = waitAfter(outcome, tries, repeatable)
      // Where waiting is in vain, the caller is told at once.
      if (wait === null || tries === maxTries || now() + wait > giveUpAt) {
        if ('error' in outcome) throw outcome.error
        return outcome
      }
      await sleep(wait)
    }
  }

  async function send({ path, body, headers: more }: Request, method: string): Promise<Answer> {
    const headers = {
      ...more,
      authorization: `Bearer ${token}`,
      ...(body !== undefined && { 'content-type': 'application/json' }),
    }
    const answer = await fetch(url + path, {
      method,
      headers,
      ...(body !== undefined && { body }),
      redirect: 'manual', // the credential is for this address only
      signal: AbortSignal.timeout(timeout * 1000),
    })
    return { status: answer.status, headers: answer.headers, body: await answer.text() }
  }

  /** @returns seconds; `null` where the request must not be sent again, or has been answered */
  function waitAfter(outcome: Answer | { error: unknown }, tries: number, repeatable: boolean): number | null {
    if ('error' in outcome) return repeatable ? backoff(tries) : null
    const told = retryAfter(outcome)
    if (neverFits(outcome)) return null
    if (NEVER_FORWARDED.has(codeOf(outcome))) return spread(told ?? 1)
    if (!PERHAPS_FORWARDED.has(outcome.status) || !repeatable) return null
    return told === null ? backoff(tries) : spread(told)
  }

  /** Never earlier than told, and not all at the same moment: a tenth later at most, or half a minute. */
  function spread(seconds: number): number {
    return seconds + random() * Math.min(30, Math.max(1, seconds / 10))
  }

  /** Up to 1, 2, 4, … 30 seconds. */
  function backoff(tries: number): number {
    return random() * Math.min(30, 2 ** (tries - 1))
  }
}

/** In seconds; `null` where it is missing or a date, which the gateway never sends. */
function retryAfter({ headers }: Answer): number | null {
  const text = headers.get('retry-after') ?? ''
  return /^\d+$/.test(text) ? Number(text) : null
}

/** Whether a refusal of the quota is one that no waiting helps: the request costs more than one of its limits. */
function neverFits(answer: Answer): boolean {
  if (codeOf(answer) !== 'quota_exceeded') return false
  const { requested = 0 } = saidBy(answer)?.quota ?? {}
  const limits = (answer.headers.get('ratelimit-policy') ?? '').matchAll(/;q=(\d+)/g)
  return [...limits].some(([, limit]) => requested > Number(limit))
}

/** The `error` of an answer of the gateway. */
function codeOf(answer: Answer): string {
  return saidBy(answer)?.error ?? ''
}

function saidBy({ body }: Answer): { error?: string; quota?: { requested?: number } } | null {
  try {
    return JSON.parse(body)
  } catch {
    return null
  }
}

function timer(seconds: number): Promise<void> {
  return new Promise((done) => setTimeout(done, seconds * 1000))
}

if (import.meta.main) {
  const { TOLLGATE_URL = 'http://127.0.0.1:8080', TOLLGATE_TOKEN = '' } = process.env
  const [method = 'GET', path = '/me/quota', body] = process.argv.slice(2)
  const call = createClient({ url: TOLLGATE_URL, token: TOLLGATE_TOKEN })
  const answer = await call({ method, path, ...(body !== undefined && { body }) })
  console.log(answer.status, answer.body)
}
