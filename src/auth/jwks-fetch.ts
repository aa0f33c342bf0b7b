import { get } from '../lib/http-client.ts'

const TIMEOUT_MS = 5000
const MAX_BYTES = 256 * 1024

const MINUTE = 60_000
const DEFAULT_FRESH = 10 * MINUTE
const LEAST_FRESH = MINUTE
const MOST_FRESH = 24 * 60 * MINUTE

export interface FetchedJson {
  readonly json: unknown
  /** For how many milliseconds it may be used: 1 minute to 1 day, and 10 minutes if the response does not say. */
  readonly freshMs: number
  /** How long ago the issuer sent the document, in milliseconds, according to a cache on the way (`Age`). */
  readonly ageMs: number
}

/**
 * The address of a key set: https, or http to this machine.
 * @throws Error
 */
export function keySetUrl(text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : null
  if (url === null) throw new Error('not a URL')
  if (url.username !== '' || url.password !== '') throw new Error('a URL with a user or password in it')
  if (url.protocol === 'https:' || (url.protocol === 'http:' && isLoopback(url.hostname))) return url
  throw new Error(
    'not https: whoever is on the way could put in keys of their own (http is for 127.0.0.1, [::1] and localhost)',
  )
}

function isLoopback(hostname: string): boolean {
  return hostname === 'localhost' || hostname === '[::1]' || /^127\.\d+\.\d+\.\d+$/.test(hostname)
}

/** Fetches a JSON document in at most 5 seconds, of at most 256 KiB, and follows no redirect. @throws Error */
export async function fetchJson(url: URL, closed: AbortSignal): Promise<FetchedJson> {
  const headers = { accept: 'application/jwk-set+json, application/json' }
  const request = { url, headers, deadlineMs: TIMEOUT_MS, maxBytes: MAX_BYTES, signal: closed }
  const { status, header, text } = await get(request)
  if (status !== 200) throw new Error(`answered ${status}`)
  const json = parse(text, header('content-type'))
  return { json, freshMs: freshness(header('cache-control')), ageMs: ageOf(header('age')) }
}

/** The message `fetch failed` says nothing, so its cause is shown. */
export function why(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  return error.cause instanceof Error ? `${error.message}: ${error.cause.message}` : error.message
}

/** The error of `JSON.parse` would show a part of the text, and not what to do. */
function parse(text: string, type: string | null): unknown {
  try {
    return JSON.parse(text)
  } catch {
    throw new Error(
      `answered what is no JSON (${type ?? 'of no type'}): name the address of the key set itself under jwks`,
    )
  }
}

function ageOf(age: string | null): number {
  return /^\d{1,9}$/.test(age ?? '') ? Number(age) * 1000 : 0
}

function freshness(cacheControl: string | null): number {
  const seconds = /(?:^|[\s,])max-age="?(\d+)/i.exec(cacheControl ?? '')?.[1]
  if (seconds === undefined) return DEFAULT_FRESH
  return Math.min(Math.max(Number(seconds) * 1000, LEAST_FRESH), MOST_FRESH)
}
