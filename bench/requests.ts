import { createHmac } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'

export const ISSUER = 'https://id.bench.local'
export const AUDIENCE = 'bench'
/** Valid for the loopback of one benchmark only. */
export const SECRET = 'a secret of the benchmark, which is no secret at all'

/** The users of a load: so many that the charges of one batch are those of different users. */
const LOADING_USERS = 1000

const EXPIRES_AT = Math.floor(Date.now() / 1000) + 24 * 3600

/** Always 10 characters, because each one costs memory and time. */
export function userName(index: number): string {
  return `u${String(index).padStart(9, '0')}`
}

const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url')
const HEADER = part({ alg: 'HS256', typ: 'JWT' })

/** @param claims beside the required ones @param secret of somebody else for a forged JWT */
export function jwtOf(user: string, claims: object = {}, secret = SECRET): string {
  const signed = `${HEADER}.${part({ iss: ISSUER, aud: AUDIENCE, sub: user, exp: EXPIRES_AT, ...claims })}`
  return `${signed}.${createHmac('sha256', secret).update(signed).digest('base64url')}`
}

/** A request of a list, by default a GET without a body. */
export interface Listed {
  readonly method?: string
  readonly path: string
  readonly credential: string
  readonly body?: string
}

/** Writes files of requests for the load generators, and the static map of nginx, which verifies nothing. */
export interface Requests {
  /** The same request by the first users in turn. Default 1000 users. @returns the name of the file */
  byUsers(method: string, path: string, users?: number): string
  /** One request for each entry, in that order. A credential may be whole fields, `NAME: VALUE | NAME: VALUE`. @returns the name of the file */
  of(list: readonly Listed[]): string
  /** Credentials of the first users, made once. */
  credentials(users: number): readonly string[]
  /** User id and credential of each loading user, one on a line. */
  readonly known: string
}

export function createRequests(folder: string): Requests {
  const made: string[] = []
  let files = 0

  function credentials(users: number): readonly string[] {
    while (made.length < users) made.push(jwtOf(userName(made.length)))
    return made.slice(0, users)
  }

  function write(lines: readonly string[]): string {
    const name = join(folder, `requests-${++files}`)
    writeFileSync(name, `${lines.join('\n')}\n`)
    return name
  }

  const known = join(folder, 'known')
  const loading = credentials(LOADING_USERS)
  writeFileSync(known, loading.map((credential, i) => `${userName(i)} ${credential}\n`).join(''))
  return {
    byUsers: (method, path, users = LOADING_USERS) =>
      write(credentials(users).map((credential) => `${method} ${path} ${credential}`)),
    of: (list) =>
      write(
        list.map(({ method = 'GET', path, credential, body }) => {
          return `${method} ${path} ${credential}${body === undefined ? '' : `\t${body}`}`
        }),
      ),
    credentials,
    known,
  }
}
