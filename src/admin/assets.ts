import type { IncomingHttpHeaders } from 'node:http'
import { type Asset, readAssets } from '../lib/assets.ts'
import { isKnown, takesGzip } from '../lib/representation.ts'
import { type AdminResponse, refusal, SECURITY_HEADERS } from './http.ts'

/** The files of the dashboard. */
export interface Assets {
  /**
   * @param path relative to the folder, with `/` between names, for example `assets/index-4f2a.js`
   * @returns `null` if there is no such file
   */
  read(path: string): Promise<Asset | null>
}

/** Reads the whole folder once, so that the path of a request is only looked up and never opened. */
export function folderAssets(folder: string): Assets {
  let files: Promise<ReadonlyMap<string, Asset>> | null = null
  return {
    async read(path) {
      files ??= readAssets(folder)
      const known = await files
      // The dashboard is not built yet, so the next request looks again.
      if (known.size === 0) files = null
      return known.get(path) ?? null
    },
  }
}

/** Allows only files of this listener, and nothing inline. Forms are sent by script. */
const PAGE_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self'",
  "font-src 'self'",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ')

export interface PageRequest {
  /** The path of the URL, without its query. */
  readonly path: string
  readonly headers: IncomingHttpHeaders
}

/** The response with a file of the dashboard, or with its page for a path that only the page knows. `null` for any other path. */
export async function pageResponse(assets: Assets | null, request: PageRequest): Promise<AdminResponse | null> {
  const { path, headers } = request
  const acceptsHtml = headers.accept?.includes('text/html') === true
  const isPage = PAGES.has(path) || (acceptsHtml && isRouteOfThePage(path))
  const file = (await assets?.read(path.slice(1))) ?? null
  const asset = file ?? (isPage ? ((await assets?.read('index.html')) ?? null) : null)
  if (asset === null) return isPage ? NOT_BUILT : null
  const common = {
    'content-security-policy': PAGE_POLICY,
    'cache-control': isHashed(path) ? 'public, max-age=31536000, immutable' : 'no-cache',
    vary: 'accept-encoding',
    etag: asset.tag,
  }
  if (isKnown(asset.tag, headers['if-none-match'])) return { status: 304, headers: common }
  const shrinks = takesGzip(headers['accept-encoding']) && asset.gzipped.length < asset.bytes.length
  return {
    status: 200,
    body: shrinks ? asset.gzipped : asset.bytes,
    contentType: asset.contentType,
    headers: { ...common, ...(shrinks && { 'content-encoding': 'gzip' }) },
  }
}

/** Paths at which clients get the page even if they do not accept HTML. A program that follows the link of an access key thus leaves it unused. */
const PAGES: ReadonlySet<string> = new Set(['/', '/handover'])

/** A path that only the dashboard knows, such as `/users/alice`. It is neither a file nor a path of this listener. */
function isRouteOfThePage(path: string): boolean {
  return !/^\/(?:api|assets|openapi\.json|metrics|livez|readyz|drain)(?:\/|$)/.test(path)
}

/** Vite names the files that it builds by their content. */
function isHashed(path: string): boolean {
  return path.startsWith('/assets/')
}

const NOT_BUILT: AdminResponse = {
  ...refusal('not_found', ''),
  body: 'The dashboard is not built: run "npm run build" in the folder of Tollgate. The API is there without it: see /openapi.json.\n',
  contentType: 'text/plain; charset=utf-8',
  headers: SECURITY_HEADERS,
}
