import { readFile } from 'node:fs/promises'
import { dirname } from 'node:path'
import { isObject } from '../lib/json.ts'
import type { HostPort } from './addresses.ts'
import { keys } from './keys.ts'
import { admin } from './schema/listen.ts'
import { secretFiles } from './secret-files.ts'
import type { Environment } from './substitute.ts'
import { parseTree } from './tree.ts'
import type { Reading } from './units.ts'
import { toData } from './yaml-data.ts'

export interface AdminAddress extends HostPort {
  /** Whether the listener uses TLS. */
  readonly encrypted: boolean
  /** An admin token of role admin; `null` if the file has none. */
  readonly token: string | null
}

/**
 * The address of the admin listener, from a file that may have problems elsewhere. A running gateway keeps its earlier
 * configuration, so a bad change of the file must not make it look dead.
 * @returns a problem if the file is missing, unreadable or empty, if it has a syntax error, or if the address in it is invalid
 */
export async function adminAddress(file: string, env: Environment): Promise<Reading<AdminAddress>> {
  const text = await readFile(file, 'utf8').catch(({ code }: NodeJS.ErrnoException) => ({ code }))
  if (typeof text !== 'string') {
    const why = text.code === 'ENOENT' ? 'is missing' : `cannot be read (${text.code})`
    return { problem: `the configuration file ${file} ${why}` }
  }
  const { tree } = parseTree(text)
  const value = tree === null ? null : addressIn(toData(tree, env, secretFiles(dirname(file))).data)
  return value === null ? { problem: `${file} does not tell admin.listen` } : { value }
}

/** The address if the file does not name one. */
export function defaultAdminAddress(): AdminAddress {
  const address = addressIn({})
  if (address === null) throw new Error('admin.listen has a default')
  return address
}

function addressIn(data: unknown): AdminAddress | null {
  const { listen, tls, token, tokens = [] } = keys(admin.in, isObject(data) ? data.admin : undefined)
  if (listen === undefined) return null
  const named = tokens.find(({ role }) => role === 'admin')
  return { ...listen, encrypted: tls !== undefined, token: token ?? named?.token ?? null }
}
