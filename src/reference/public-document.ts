import type { PublicDocument } from '../gateway/snapshot.ts'
import { makeAsset } from '../lib/assets.ts'
import { choose, inBothForms, type Made } from './made.ts'

export interface PublicDocumentOptions<T extends object> {
  /** The source of the document: another object when the document may change; `null` while nothing is known. */
  readonly current: () => T | null
  readonly documentOf: (state: T) => object
  /** How long a client may use it, in seconds. */
  readonly maxAgeSeconds: number
}

/**
 * A public document, which is made at the first request after a change. Requests that come meanwhile wait for the same
 * document, so it is never made more often than it changes.
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
