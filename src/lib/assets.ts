import { readdir, readFile } from 'node:fs/promises'
import { extname, join, relative, sep } from 'node:path'
import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import { tagOf } from './representation.ts'

/** A file of a page that Vite built. */
export interface Asset {
  readonly bytes: Buffer
  readonly gzipped: Buffer
  readonly contentType: string
  /** The value of ETag. */
  readonly tag: string
}

const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.json': 'application/json; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
  '.ico': 'image/x-icon',
  '.woff2': 'font/woff2',
  '.txt': 'text/plain; charset=utf-8',
}

/** All files below a folder, by their path in it with `/` between names. Empty if there is no such folder. */
export async function readAssets(folder: string): Promise<ReadonlyMap<string, Asset>> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true }).catch(() => [])
  const paths = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name))
  const files = await Promise.all(
    paths.map(async (path) => {
      const asset = await makeAsset(await readFile(path), extname(path))
      return [relative(folder, path).split(sep).join('/'), asset] as const
    }),
  )
  return new Map(files)
}

/** @param extension of the file's name, with its dot */
export async function makeAsset(bytes: Buffer, extension: string): Promise<Asset> {
  return {
    bytes,
    gzipped: await promisify(gzip)(bytes),
    contentType: TYPES[extension] ?? 'application/octet-stream',
    tag: tagOf(bytes),
  }
}
