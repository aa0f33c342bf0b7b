import { fileURLToPath } from 'node:url'
import { GATEWAY_NAME } from '../config/checks/reference.ts'
import type { ReferenceConfig } from '../config/config.ts'
import type { Reference } from '../gateway/snapshot.ts'
import { type Asset, makeAsset, readAssets } from '../lib/assets.ts'
import type { OwnResponse } from '../respond/response.ts'
import { choose, inBothForms, type Made, SAFE } from './made.ts'
import type { Selection } from './selection.ts'

export interface ReferenceOptions {
  readonly config: ReferenceConfig
  /** The OpenAPI document of the gateway. */
  readonly document: object
  /** The folder of the built page. Default `dist/reference/page`. */
  readonly folder?: string
}

/** `npm run build` puts the page into `dist/reference/page`, also for a process that runs the sources. */
const BUILT = fileURLToPath(
  new URL(import.meta.url.endsWith('.ts') ? '../../dist/reference/page/' : './page/', import.meta.url),
)

/** The page of the API with its files, each made once. A request only costs a look into a map. */
export async function createReference({ config, document, folder = BUILT }: ReferenceOptions): Promise<Reference> {
  const { path } = config
  const made = new Map<string, Made>()
  for (const [name, asset] of await builtFiles(folder)) {
    if (PAGES.has(name)) made.set(`${path}/${name}`, page(await placed(asset, path), policyOf(name, config)))
    else made.set(`${path}/${name}`, file(asset, name))
  }
  for (const [name, value] of [
    ['services.json', selectionOf(config)],
    ['gateway.json', document],
  ] as const) {
    made.set(`${path}/${name}`, page(await makeAsset(Buffer.from(JSON.stringify(value)), '.json'), NO_PAGE))
  }
  const index = made.get(`${path}/index.html`) ?? NOT_BUILT
  made.set(path, index).set(`${path}/`, index)
  return {
    // Most requests are for the upstream and end here, before any look into the map.
    has: (asked) => asked.startsWith(path) && made.has(asked),
    response(asked, headers) {
      const found = made.get(asked)
      return found === undefined ? null : choose(found, headers)
    },
  }
}

/** Files that stay the same between two builds. A process reads and compresses them once. */
const built = new Map<string, ReadonlyMap<string, Asset>>()

async function builtFiles(folder: string): Promise<ReadonlyMap<string, Asset>> {
  const known = built.get(folder) ?? (await readAssets(folder))
  // Without files the page is not built yet: the next reload looks again.
  if (known.size > 0) built.set(folder, known)
  return known
}

/** Pages whose policy and place depend on the configuration. */
const PAGES = new Set(['index.html', 'frame.html'])

/**
 * A page with absolute addresses. Vite writes them relative to the folder of the page, but the page is also served at the path of this
 * folder without a slash at the end.
 */
function placed({ bytes }: Asset, path: string): Promise<Asset> {
  return makeAsset(Buffer.from(bytes.toString().replaceAll('="./', `="${path}/`)), '.html')
}

function selectionOf({ path, title, services }: ReferenceConfig): Selection {
  return {
    title,
    services: [
      { name: GATEWAY_NAME, url: '/', document: `${path}/gateway.json` },
      ...services.map(({ name, url, openapi }) => ({ name, url, document: url + openapi })),
    ],
  }
}

/**
 * Scripts and styles come from files only: styles that Swagger UI sets by script need no permission. Its style sheet holds
 * pictures as data: addresses. Requests go to the gateway and the configured services only.
 */
function policyOf(name: string, { services }: ReferenceConfig): string {
  const isFrame = name === 'frame.html'
  const origins = new Set(services.map(({ url }) => new URL(url).origin))
  return [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    isFrame ? "img-src 'self' data:" : "img-src 'self'",
    ['connect-src', "'self'", ...origins].join(' '),
    isFrame ? "frame-ancestors 'self'" : "frame-src 'self'; frame-ancestors 'none'",
    "base-uri 'none'",
    "form-action 'none'",
  ].join('; ')
}

const NO_PAGE = "default-src 'none'; frame-ancestors 'none'"

function file(asset: Asset, name: string): Made {
  // Vite names the files that it builds by their content.
  if (!name.startsWith('assets/')) return page(asset, NO_PAGE)
  return inBothForms(asset, null, ['Cache-Control', 'public, max-age=31536000, immutable'])
}

function page(asset: Asset, policy: string): Made {
  const etag = asset.tag
  return inBothForms(asset, etag, ['Content-Security-Policy', policy, 'Cache-Control', 'no-cache', 'ETag', etag])
}

const MISSING = 'The reference is not built: run "npm run build" in the folder of Tollgate.\n'
const MISSING_ANSWER: OwnResponse = {
  status: 404,
  headers: ['Content-Type', 'text/plain; charset=utf-8', ...SAFE, 'Cache-Control', 'no-store'],
  body: MISSING,
}
const NOT_BUILT: Made = { plain: MISSING_ANSWER, gzipped: MISSING_ANSWER, etag: null }
