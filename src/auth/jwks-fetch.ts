const TIMEOUT_MS = 5000
const MAX_BYTES = 256 * 1024

const MINUTE = 60_000
const DEFAULT_FRESH = 10 * MINUTE
const LEAST_FRESH = MINUTE
const MOST_FRESH = 24 * 60 * MINUTE

export interface FetchedJson {
  readonly json: unknown
  /** How long it may be used without asking again, in milliseconds: 1 minute to 1 day, 10 minutes where the answer does not say. */
  readonly freshMs: number
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

/**
 * Fetches a JSON document: 5 seconds for all of it, 256 KiB at most, no redirect followed (it could lead to plain http
 * or to an inner address).
 * @throws Error
 */
export async function fetchJson(url: URL, closed: AbortSignal): Promise<FetchedJson> {
  const signal = AbortSignal.any([closed, AbortSignal.timeout(TIMEOUT_MS)])
  // A connection that is kept for the next fetch would lead to where the name led before.
  const headers = { accept: 'application/jwk-set+json, application/json', connection: 'close' }
  const response = await fetch(url, { redirect: 'manual', signal, headers })
  if (response.status !== 200) {
    await response.body?.cancel()
    throw new Error(`answered ${response.status}`)
  }
  const text = await readText(response)
  return { json: parse(text, response.headers), freshMs: freshness(response.headers.get('cache-control')) }
}

/** The error of `JSON.parse` would show a piece of the text, and not what to do. */
function parse(text: string, headers: Headers): unknown {
  try {
    return JSON.parse(text)
  } catch {
    const type = headers.get('content-type') ?? 'of no type'
    throw new Error(`answered what is no JSON (${type}): name the address of the key set itself under jwks`)
  }
}

async function readText(response: Response): Promise<string> {
  const chunks: Uint8Array[] = []
  let bytes = 0
  // Leaving the loop cancels the rest of the body. The bytes are counted after decompression.
  for await (const chunk of response.body ?? []) {
    bytes += chunk.length
    if (bytes > MAX_BYTES) throw new Error(`answered more than ${MAX_BYTES / 1024} KiB`)
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString('utf8')
}

function freshness(cacheControl: string | null): number {
  const seconds = /(?:^|[\s,])max-age="?(\d+)/i.exec(cacheControl ?? '')?.[1]
  if (seconds === undefined) return DEFAULT_FRESH
  return Math.min(Math.max(Number(seconds) * 1000, LEAST_FRESH), MOST_FRESH)
}
