import { constants } from 'node:fs'
import { access, open, stat } from 'node:fs/promises'
import { dirname } from 'node:path'
import type { Config, ListenerTls } from './config.ts'
import { type Finding, type Path, quote } from './problems.ts'

/** The files that a configuration names and that cannot be read. */
export async function unreadableFiles(config: Config): Promise<Finding[]> {
  const findings = await Promise.all(namedFiles(config).map(async ([path, file]) => problemOf(path, file)))
  return findings.filter((finding) => finding !== null)
}

function namedFiles({ auth, upstream, reference, ...own }: Config): (readonly [Path, string])[] {
  const keys = auth.jwt.flatMap((issuer, i) =>
    issuer.keys.kind === 'file' ? [[['auth', 'jwt', i, 'jwks'], issuer.keys.path] as const] : [],
  )
  const { caFile = null, certFile = null, keyFile = null } = upstream.tls ?? {}
  const tls = Object.entries({ ca: caFile, cert: certFile, key: keyFile }).flatMap(([key, file]) =>
    file === null ? [] : [[['upstream', 'tls', key], file] as const],
  )
  const openapi = reference?.openapi ?? null
  const listeners = [...ofListener(['tls'], own.tls), ...ofListener(['admin', 'tls'], own.admin.tls)]
  return [...keys, ...tls, ...listeners, ...(openapi === null ? [] : [[['reference', 'openapi'], openapi] as const])]
}

function ofListener(path: Path, tls: ListenerTls | null): (readonly [Path, string])[] {
  if (tls === null) return []
  return [
    [[...path, 'cert'], tls.certFile],
    [[...path, 'key'], tls.keyFile],
  ]
}

async function problemOf(path: Path, file: string): Promise<Finding | null> {
  try {
    await access(file, constants.R_OK)
    return null
  } catch (error) {
    const { code = 'error' } = error as NodeJS.ErrnoException
    return { path, message: `${quote(file)} cannot be read (${code}): check the path and the permissions` }
  }
}

/** Why the embedded store could not be opened there, as far as that shows without opening it: that would make its file. */
export async function unusableStore({ store: { location } }: Config): Promise<Finding | null> {
  if (location.kind !== 'sqlite' || location.path === ':memory:') return null
  const { path } = location
  const found = await stat(path).catch(() => null)
  if (found !== null && !found.isFile()) {
    return { path: ['store'], message: `${quote(path)} is not a regular file: name the file of the store` }
  }
  const folder = dirname(path)
  // With the slash it has to be a folder.
  const ofFolder = await unwritable(folder, `${folder}/`)
  if (ofFolder !== null || found === null) return ofFolder
  return (await unwritable(path, path)) ?? (await notDatabase(path))
}

/** The first bytes of every database of SQLite; of an empty file it makes one. */
const MAGIC = 'SQLite format 3\0'

async function notDatabase(path: string): Promise<Finding | null> {
  if (await beginsLikeOne(path)) return null
  const message = `${quote(path)} is not a database: name one that Tollgate made, or a file that is yet to be made`
  return { path: ['store'], message }
}

async function beginsLikeOne(path: string): Promise<boolean> {
  const file = await open(path)
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(MAGIC.length))
    return bytesRead === 0 || buffer.toString('latin1') === MAGIC
  } finally {
    await file.close()
  }
}

async function unwritable(named: string, asked: string): Promise<Finding | null> {
  try {
    await access(asked, constants.R_OK | constants.W_OK)
    return null
  } catch (error) {
    const { code = 'error' } = error as NodeJS.ErrnoException
    const cure = 'name a file in a folder that exists and that the user of the gateway may write'
    return { path: ['store'], message: `${quote(named)} cannot be written (${code}): ${cure}` }
  }
}
