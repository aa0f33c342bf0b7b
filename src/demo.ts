import { randomBytes } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { loadOrTell, reachable } from './cli/config.ts'
import { serveFile } from './cli/serve.ts'
import { makeToken } from './cli/token.ts'
import { hashToken } from './control/tokens.ts'
import { openStore } from './open-store.ts'
import { createScoreService } from './services/score/service.ts'

/**
 * `npm start`: the gateway in front of the bundled score service; the only place where they meet.
 * Secrets are made at the first start and kept with the databases in a folder that git ignores.
 */

const USER = 'alice'
const config = (name: string): string => fileURLToPath(new URL(`../config/${name}`, import.meta.url))
const home = process.env.TOLLGATE_HOME ?? '.tollgate'
const isAdminTokenGiven = process.env.TOLLGATE_ADMIN_TOKEN !== undefined

async function demo(): Promise<number> {
  mkdirSync(home, { recursive: true, mode: 0o700 })
  const backendSecret = kept('backend-secret', newSecret)
  const database = join(home, 'score.db')
  const isNew = !existsSync(database)
  const score = await createScoreService({ database, catalogue: config('score/catalogue.json'), backendSecret })
  if (isNew) await score.importFixture(config('score/fixture.json'))
  const { url } = await score.listen(addressOf(process.env.SCORE_LISTEN ?? '127.0.0.1:9000'))
  process.env.TOLLGATE_UPSTREAM = url
  process.env.SCORE_BACKEND_SECRET = backendSecret
  process.env.TOLLGATE_STORE ??= `sqlite:${join(home, 'tollgate.db')}`
  process.env.TOLLGATE_ADMIN_TOKEN ??= kept('admin-token', newSecret)
  try {
    const file = process.env.TOLLGATE_CONFIG ?? config('demo.yaml')
    const token = await credential(file)
    return token === null ? 1 : await serveFile(file, (urls) => welcome({ ...urls, score: url, token, file }))
  } finally {
    await score.close()
  }
}

/** A gateway token of the demo's user that the store knows; made where there is none, so that another store gets its own. */
async function credential(file: string): Promise<string | null> {
  const loaded = await loadOrTell(file)
  if (loaded === null) return null
  const store = openStore(loaded.config.store, () => {})
  try {
    await reachable(store)
    const path = join(home, 'token')
    const old = existsSync(path) ? readFileSync(path, 'utf8').trim() : ''
    const known = await store.findToken(hashToken(old))
    if (known !== null && known.revokedAt === null) return old
    const { token } = await makeToken(store, { user: USER, name: 'demo', lifetime: null })
    writeFileSync(path, `${token}\n`, { mode: 0o600 })
    return token
  } finally {
    await store.close()
  }
}

function kept(name: string, make: () => string): string {
  const path = join(home, name)
  if (!existsSync(path)) writeFileSync(path, `${make()}\n`, { mode: 0o600 })
  return readFileSync(path, 'utf8').trim()
}

function newSecret(): string {
  return randomBytes(32).toString('base64url')
}

function addressOf(text: string): { host: string; port: number } {
  const { hostname, port } = new URL(`http://${text}`)
  return { host: hostname, port: Number(port) }
}

/** What a second terminal needs for curl and for the `tollgate` command. */
function writeEnvironment(variables: Readonly<Record<string, string | undefined>>): string {
  const path = join(home, 'env')
  const lines = Object.entries(variables).map(([name, value]) => `export ${name}='${value}'\n`)
  writeFileSync(path, lines.join(''), { mode: 0o600 })
  return path
}

function welcome(started: { gateway: string; admin: string; score: string; token: string; file: string }): void {
  const { gateway, admin, score, token, file } = started
  const { TOLLGATE_STORE, TOLLGATE_UPSTREAM, SCORE_BACKEND_SECRET, TOLLGATE_ADMIN_TOKEN } = process.env
  const path = writeEnvironment({
    TOLLGATE_URL: gateway,
    TOLLGATE_TOKEN: token,
    TOLLGATE_CONFIG: file,
    TOLLGATE_STORE,
    TOLLGATE_UPSTREAM,
    SCORE_BACKEND_SECRET,
    TOLLGATE_ADMIN_TOKEN,
  })
  console.log(`
Tollgate is in front of the score service, with the quota in ${TOLLGATE_STORE?.replace(/\/\/.*@/, '//***@')}

  gateway        ${gateway}
  dashboard      ${admin}   (sign in with the admin token, which is in ${adminTokenPlace()}; also /livez, /readyz, /metrics)
  score service  ${score}   (takes requests from the gateway only)
  credential     ${token}   (user ${USER})

Try it in a second terminal:

  curl -i ${gateway}/me/quota -H 'Authorization: Bearer ${token}'

  . ${path}   (sets TOLLGATE_URL and TOLLGATE_TOKEN for the tour in README.md)

Ctrl-C ends it; scores, quota and secrets stay in ${home}.
`)
}

/** Not the token itself: what a terminal shows is easily shared. */
function adminTokenPlace(): string {
  return isAdminTokenGiven ? '$TOLLGATE_ADMIN_TOKEN' : join(home, 'admin-token')
}

try {
  process.exitCode = await demo()
} catch (error) {
  const { code, message } = error as NodeJS.ErrnoException
  const cure =
    code === 'EADDRINUSE'
      ? ' (TOLLGATE_LISTEN, TOLLGATE_ADMIN_LISTEN and SCORE_LISTEN choose other ones, as 127.0.0.1:PORT)'
      : ''
  console.error(`${message}${cure}`)
  process.exitCode = 1
}
