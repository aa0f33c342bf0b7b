import type { PublicDocument } from '../gateway/snapshot.ts'
import { makeAsset } from '../lib/assets.ts'
import { choose, inBothForms, type Made } from './made.ts'

export interface PublicDocumentOptions<T extends object> {
  /** What the document is made of: another object when it may say something else; `null` while nothing is known. */
  readonly current: () => T | null
  readonly documentOf: (state: T) => object
  /** For how long a client may go by it, in seconds. */
  readonly maxAgeSeconds: number
}

/**
 * A document for everybody, made ready when it is first asked for after a change. Whoever asks while it is made waits for
 * the same one, so that no number of requests makes it more often than it changes.
 */
export function createPublicDocument<T extends object>(options: PublicDocumentOptions<T>): PublicDocument {
  const { current, documentOf, maxAgeSeconds } = options
  let last: { readonly state: T; readonly made: Promise<Made> } | null = null
  return async function response(headers) {
    const state = current()
    if (state === null) return null
    if (last?.state !== state) last = { state, made: make(documentOf(state), maxAgeSeconds) }
    return choose(await last.made, headers)
  }
}

async function make(document: object, maxAgeSeconds: number): Promise<Made> {
  const asset = await makeAsset(Buffer.from(JSON.stringify(document)), '.json')
  const etag = asset.tag
  return inBothForms(asset, etag, ['Cache-Control', `public, max-age=${maxAgeSeconds}`, 'ETag', etag])
}
