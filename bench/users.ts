import { createHmac } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'

export const ISSUER = 'https://id.bench.local'
export const AUDIENCE = 'bench'
/** Good for the loopback of one benchmark only. */
export const SECRET = 'a secret of the benchmark, which is no secret at all'

/** For the memory of a user. */
export const ALL_USERS = 10_000
/** For the load: many enough that the charges of one batch are those of different users. */
export const LOADING_USERS = 1000

export interface UserFiles {
  /** One credential a line. */
  readonly all: string
  readonly loading: string
  /** User id and credential on each line: the static map of nginx, which verifies nothing. */
  readonly known: string
}

export function writeUsers(folder: string): UserFiles {
  const expiresAt = Math.floor(Date.now() / 1000) + 24 * 3600
  const users = Array.from({ length: ALL_USERS }, (_, i) => `user-${String(i).padStart(5, '0')}`)
  const tokens = users.map((user) => sign({ iss: ISSUER, aud: AUDIENCE, sub: user, exp: expiresAt }))
  const files = { all: join(folder, 'all'), loading: join(folder, 'loading'), known: join(folder, 'known') }
  writeFileSync(files.all, `${tokens.join('\n')}\n`)
  writeFileSync(files.loading, `${tokens.slice(0, LOADING_USERS).join('\n')}\n`)
  writeFileSync(
    files.known,
    users
      .slice(0, LOADING_USERS)
      .map((user, i) => `${user} ${tokens[i]}\n`)
      .join(''),
  )
  return files
}

function sign(claims: object): string {
  const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url')
  const signed = `${part({ alg: 'HS256', typ: 'JWT' })}.${part(claims)}`
  return `${signed}.${createHmac('sha256', SECRET).update(signed).digest('base64url')}`
}
