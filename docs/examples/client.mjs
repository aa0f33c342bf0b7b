// @ts-check

/**
 * A client of a service behind Tollgate that waits as the gateway says. It needs a browser, or Node 20 or newer, and nothing else.
 * Its types are in client.d.mts, which TypeScript finds beside it.
 */

/**
 * @typedef {object} ClientOptions
 * @property {string} url Address of the gateway, such as `https://api.example.org`.
 * @property {string | (() => string | Promise<string>)} token The Bearer credential, or a function that gives it before each request.
 * @property {number} [patience] The longest that a call may take with all its waiting, in seconds. Default 60.
 * @property {number} [maxTries] The most requests for one call. Default 5.
 * @property {number} [timeout] The longest that one request may take, in seconds. Default 60.
 * @property {(seconds: number) => Promise<void>} [sleep] Resolves after so many seconds. Default: a timer.
 * @property {() => number} [now] Seconds from any fixed moment. Default: those since the process began, which no change of the clock moves.
 * @property {() => number} [random] From 0 to below 1. Default `Math.random`.
 */

/**
 * @typedef {object} Request
 * @property {string} [method] Default GET.
 * @property {string} path
 * @property {string} [body] Sent as JSON.
 * @property {Readonly<Record<string, string>>} [headers] Further fields, such as `Idempotency-Key`.
 * @property {boolean} [repeatable] Whether the service may get it twice. A request with an `Idempotency-Key` needs it too. Default: only
 *   GET, HEAD and OPTIONS, and in a browser no request that got no response.
 */

/** @typedef {{ status: number, headers: Headers, body: string }} Answer */

/**
 * @typedef {object} Left
 * @property {string} policy Whose window, of which category: `personal-read-1h`.
 * @property {number} limit Tokens of the window.
 * @property {number} remaining Tokens that are left of it.
 * @property {number | null} seconds Until the window ends and all its tokens come back; `null` before it has begun.
 */

/** Refusals of the gateway itself: the service has certainly not seen the request. */
const NEVER_FORWARDED = new Set([
  '429 quota_exceeded',
  '429 too_many_in_flight',
  '503 overloaded',
  '503 store_unavailable',
])
/** The service may have had the request, and may have acted on it. */
const PERHAPS_FORWARDED = new Set([502, 503, 504])
/**
 * A browser hides a response that the page may not read, so it looks like a lost connection. Each repetition of such a request is
 * charged and hidden again.
 */
const IS_BROWSER = 'location' in globalThis

/**
 * @param {ClientOptions} options
 * @returns a function that makes a call: it gives the last answer, also a refusal, and rejects if there was none
 */
export function createClient(options) {
  const { url, token, patience = 60, maxTries = 5, timeout = 60 } = options
  const { random = Math.random, sleep = timer, now = () => performance.now() / 1000 } = options

  /**
   * @param {Request} request
   * @returns {Promise<Answer>}
   */
  return async function call(request) {
    const { method = 'GET', repeatable = ['GET', 'HEAD', 'OPTIONS'].includes(method) } = request
    const repeatsLost = IS_BROWSER ? request.repeatable === true : repeatable
    const giveUpAt = now() + patience
    for (let tries = 1; ; tries++) {
      const outcome = await send(request, method).catch((/** @type {unknown} */ error) => ({ error }))
      const wait = waitAfter(outcome, tries, 'error' in outcome ? repeatsLost : repeatable)
      // If waiting is in vain, the caller learns it at once.
      if (wait === null || tries === maxTries || now() + wait > giveUpAt) {
        if ('error' in outcome) throw outcome.error
        return outcome
      }
      await sleep(wait)
    }
  }

  /**
   * @param {Request} request
   * @param {string} method
   * @returns {Promise<Answer>}
   */
  async function send({ path, body, headers: more }, method) {
    const headers = {
      ...more,
      authorization: `Bearer ${typeof token === 'string' ? token : await token()}`,
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

  /**
   * @param {Answer | { error: unknown }} outcome
   * @param {number} tries
   * @param {boolean} repeatable
   * @returns {number | null} seconds; `null` if the request must not be sent again, or has been answered
   */
  function waitAfter(outcome, tries, repeatable) {
    if ('error' in outcome) return repeatable ? backoff(tries) : null
    const told = toldBy(outcome)
    if (outcome.headers.get('x-tollgate-quota-state') === 'never') return null
    if (NEVER_FORWARDED.has(`${outcome.status} ${codeOf(outcome)}`)) {
      // An outage may last: the waits grow.
      return outcome.status === 503 ? (told ?? 1) + backoff(tries) : spread(told ?? 1)
    }
    if (!PERHAPS_FORWARDED.has(outcome.status) || !repeatable) return null
    return told === null ? backoff(tries) : spread(told)
  }

  /**
   * Never earlier than told, and not all at the same moment: a tenth later at most, or half a minute.
   * @param {number} seconds
   */
  function spread(seconds) {
    return seconds + random() * Math.min(30, Math.max(1, seconds / 10))
  }

  /**
   * Up to 1, 2, 4, … 30 seconds.
   * @param {number} tries
   */
  function backoff(tries) {
    return random() * Math.min(30, 2 ** (tries - 1))
  }
}

/**
 * What is left after a call. The window with the least left is first, and of windows with as much left the one that ends last. Divide
 * `remaining` by what a request costs to know how many more fit. Empty where the answer does not say it, as one of a public route.
 * @param {Answer} answer
 * @returns {Left[]}
 */
export function remaining({ headers }) {
  const policies = (headers.get('ratelimit-policy') ?? '').matchAll(/"([^"]+)";q=(\d+)/g)
  const limits = new Map([...policies].map(([, policy = '', limit]) => [policy, Number(limit)]))
  const rest = (headers.get('ratelimit') ?? '').matchAll(OF_GATEWAY)
  return [...rest]
    .map(([, policy = '', left, seconds]) => ({
      policy,
      limit: limits.get(policy) ?? Number(left),
      remaining: Number(left),
      seconds: seconds === undefined ? null : Number(seconds),
    }))
    .sort((one, other) => one.remaining - other.remaining || (other.seconds ?? 0) - (one.seconds ?? 0))
}

/** A member of RateLimit that is of the gateway, and not of the service behind it. */
const OF_GATEWAY = /"((?:personal|organisation|global)-[^"]+)";r=(\d+)(?:;t=(\d+))?/g

/**
 * In seconds; `null` if it is missing or a date, which the gateway never sends. The body of a refusal comes first, because the operator
 * may have set a bound to `Retry-After` that is shorter than the window.
 * @param {Answer} answer
 */
function toldBy(answer) {
  const seconds = isRefusal(answer) ? saidBy(answer)?.retryAfterSeconds : undefined
  if (typeof seconds === 'number') return seconds
  const text = answer.headers.get('retry-after') ?? ''
  return /^\d+$/.test(text) ? Number(text) : null
}

/**
 * The `error` of an answer of the gateway; empty for one of the service, which may use the same codes. The gateway names its windows
 * in `RateLimit` only when it has charged the request, or in its 429 of the quota.
 * @param {Answer} answer
 */
function codeOf(answer) {
  if (isRefusal(answer)) return 'quota_exceeded'
  const code = remaining(answer).length === 0 ? saidBy(answer)?.error : undefined
  return code === 'quota_exceeded' ? '' : (code ?? '')
}

/**
 * Whether the quota refused. The gateway passes no `X-Quota-Reset` of a service on.
 * @param {Answer} answer
 */
function isRefusal({ status, headers }) {
  return status === 429 && headers.has('x-quota-reset')
}

/**
 * @param {Answer} answer
 * @returns {{ error?: string, retryAfterSeconds?: unknown } | null}
 */
function saidBy({ body }) {
  try {
    return JSON.parse(body)
  } catch {
    return null
  }
}

/** A timer of more than 31 bits of milliseconds, 24.8 days, fires at once. */
const LONGEST_TIMER_MS = 2 ** 31 - 1

/**
 * @param {number} seconds
 * @returns {Promise<void>}
 */
async function timer(seconds) {
  for (let left = seconds * 1000; left > 0; left -= LONGEST_TIMER_MS) {
    const ms = Math.min(left, LONGEST_TIMER_MS)
    await new Promise((done) => setTimeout(done, ms))
  }
}
