export type ClientOptions = {
  /**
   * Address of the gateway, such as `https://api.example.org`.
   */
  url: string
  /**
   * The Bearer credential, or a function that gives it before each request.
   */
  token: string | (() => string | Promise<string>)
  /**
   * The longest that a call may take with all its waiting, in seconds. Default 60.
   */
  patience?: number
  /**
   * The most requests for one call. Default 5.
   */
  maxTries?: number
  /**
   * The longest that one request may take, in seconds. Default 60.
   */
  timeout?: number
  /**
   * Resolves after so many seconds. Default: a timer.
   */
  sleep?: (seconds: number) => Promise<void>
  /**
   * Seconds from any fixed moment. Default: those since the process began, which no change of the clock moves.
   */
  now?: () => number
  /**
   * From 0 to below 1. Default `Math.random`.
   */
  random?: () => number
}
export type Request = {
  /**
   * Default GET.
   */
  method?: string
  path: string
  /**
   * Sent as JSON.
   */
  body?: string
  /**
   * Further fields, such as `Idempotency-Key`.
   */
  headers?: Readonly<Record<string, string>>
  /**
   * Whether the service may get it twice. A request with an `Idempotency-Key` needs it too. Default: only
   * GET, HEAD and OPTIONS, and in a browser no request that got no response.
   */
  repeatable?: boolean
}
export type Answer = {
  status: number
  headers: Headers
  body: string
}
export type Left = {
  /**
   * Whose window, of which category: `personal-read-1h`.
   */
  policy: string
  /**
   * Tokens of the window.
   */
  limit: number
  /**
   * Tokens that are left of it.
   */
  remaining: number
  /**
   * Until the window ends and all its tokens come back; `null` before it has begun.
   */
  seconds: number | null
}
/**
 * @param {ClientOptions} options
 * @returns a function that makes a call: it gives the last answer, also a refusal, and rejects if there was none
 */
export declare function createClient(options: ClientOptions): (request: Request) => Promise<Answer>
/**
 * What is left after a call. The window with the least left is first, and of windows with as much left the one that ends last. Divide
 * `remaining` by what a request costs to know how many more fit. Empty where the answer does not say it, as one of a public route.
 * @param {Answer} answer
 * @returns {Left[]}
 */
export declare function remaining({ headers }: Answer): Left[]
