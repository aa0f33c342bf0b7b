import '../../src/node/inspector-signal.ts'
import { fileURLToPath } from 'node:url'
import { openStore } from '../../src/app/stores.ts'
import { loadOrReport, orReportWhere, reachable } from '../../src/cli/config.ts'
import { serveFile } from '../../src/cli/serve.ts'
import { linkFor } from '../../src/cli/sign-in-link.ts'
import { makeToken } from '../../src/cli/token.ts'
import { hashAccessKey } from '../../src/control/access-key-record.ts'
import { addressIn, originsOf } from './addresses.ts'
import { type Home, openHome } from './home.ts'
import { demoJwt } from './jwt.ts'
import { type Services, startServices } from './services.ts'

/**
 * `npm start`: the gateway in front of the bundled score service, with the other two services beside it. Gateway and
 * services meet only here. Secrets are made at the first start and kept with the databases in a folder that git ignores.
 */

const USER = 'alice'
/** The user of the JWT, which each start makes anew. */
const JWT_USER = 'carol'
const folder = process.env.TOLLGATE_HOME ?? '.tollgate'
const isAdminTokenGiven = process.env.TOLLGATE_ADMIN_TOKEN !== undefined
const listen = process.env.TOLLGATE_LISTEN ?? '127.0.0.1:8080'

async function demo(): Promise<number> {
  const home = openHome(folder)
  const services = await startServices(home, {
    score: addressIn('SCORE_LISTEN', '127.0.0.1:9000'),
    sync: addressIn('SYNC_LISTEN', '127.0.0.1:9001'),
    chart: addressIn('CHART_LISTEN', '127.0.0.1:9002'),
    pages: originsOf(listen),
  })
  try {
    const file = process.env.TOLLGATE_CONFIG ?? fileURLToPath(new URL('../../config/demo.yaml', import.meta.url))
    const variables = environment(home, services, file)
    Object.assign(process.env, variables)
    const token = await credential(home, file)
    if (token === null) return 1
    return await serveFile(file, (started) => {
      const link = linkFor(process.stdout, started)
      welcome(home, { ...started, link, services, token, variables })
    })
  } finally {
    await services.close()
  }
}

/** The variables that the configuration of the demo needs. */
function environment(home: Home, { score, sync, chart }: Services, file: string) {
  const { TOLLGATE_STORE, TOLLGATE_ADMIN_TOKEN } = process.env
  return {
    TOLLGATE_CONFIG: file,
    TOLLGATE_UPSTREAM: score.url,
    TOLLGATE_STORE: TOLLGATE_STORE ?? `sqlite:${home.path('tollgate.db')}`,
    TOLLGATE_ADMIN_TOKEN: TOLLGATE_ADMIN_TOKEN ?? home.secret('admin-token'),
    TOLLGATE_JWT_SECRET: home.secret('jwt-secret'),
    SCORE_BACKEND_SECRET: score.secret,
    SYNC_URL: sync.url,
    CHART_URL: chart.url,
  }
}

/** The kept access key of the demo's user, or a new one if the store does not know it. `null`: the configuration is wrong. */
async function credential(home: Home, file: string): Promise<string | null> {
  const loaded = await loadOrReport(file)
  if (loaded === null) return null
  const store = await orReportWhere(
    loaded,
    openStore(loaded.config.store, () => {}),
  )
  try {
    await reachable(store)
    const old = home.kept('token') ?? ''
    const known = await store.findTokenByHash(hashAccessKey(old))
    if (known?.record?.revokedAt === null) return old
    const { token } = await makeToken(store, { user: USER, name: 'demo', lifetime: null })
    return home.keep('token', token)
  } finally {
    await store.close()
  }
}

interface Running {
  readonly gateway: string
  readonly admin: string
  /** The dashboard's sign-in link; `null` if there is none. */
  readonly link: string | null
  readonly services: Services
  readonly token: string
  readonly variables: Readonly<Record<string, string>>
}

/** Prints how to begin. The variables that a second terminal needs for curl and `tollgate` are in a file that it can read. */
function welcome(home: Home, { gateway, admin, link, services, token, variables }: Running): void {
  const { score, sync, chart } = services
  const exported = {
    TOLLGATE_URL: gateway,
    TOLLGATE_TOKEN: token,
    TOLLGATE_JWT: demoJwt(JWT_USER, home.secret('jwt-secret')),
    ...variables,
    // The configuration needs these too, and `tollgate healthcheck` reads it.
    TOLLGATE_LISTEN: new URL(gateway).host,
    TOLLGATE_ADMIN_LISTEN: new URL(admin).host,
    BOT_TOKEN: sync.botToken,
    CHART_KEY: chart.key,
    CHART_ADMIN_SECRET: chart.adminSecret,
  }
  home.keep(
    'env',
    Object.entries(exported)
      .map(([name, value]) => `export ${name}=${quoted(value)}`)
      .join('\n'),
  )
  const signInLine = link === null ? '' : `\n  sign-in link   ${link}   (good once, for 10 minutes)`
  console.log(`
Tollgate is in front of the score service, with the quota in ${variables.TOLLGATE_STORE?.replace(/\/\/.*@/, '//***@')}

  gateway        ${gateway}
  dashboard      ${admin}   (sign in with the admin token, which is in ${adminTokenPlace(home)}; also /livez, /readyz, /metrics)${signInLine}
  reference      ${gateway}/reference   (every endpoint of the three services, to read and to try)
  score service  ${score.url}   (takes requests from the gateway only)
  score-sync     ${sync.url}   (its Bot-Token is in ${home.path('bot-token')})
  chart preview  ${chart.url}   (its key is in ${home.path('chart-key')}, the secret that makes keys in ${home.path('chart-admin-secret')})
  credential     ${token}   (of the gateway, for user ${USER})
  JWT            in ${home.path('env')} as TOLLGATE_JWT   (of the issuer demo, for user ${JWT_USER}, good for 30 days)

Try it in a second terminal:

  curl -i ${gateway}/me/quota -H 'Authorization: Bearer ${token}'

  . ${quoted(home.path('env'))}   (sets the addresses and credentials for the tour in docs/tour.md)

Ctrl-C ends it; scores, quota and secrets stay in ${folder}.
`)
}

/** A word that the shell takes as it is. */
function quoted(word: string): string {
  return `'${word.replaceAll("'", "'\\''")}'`
}

/** The token itself is not printed, because terminals are easily shared. */
function adminTokenPlace(home: Home): string {
  return isAdminTokenGiven ? '$TOLLGATE_ADMIN_TOKEN' : home.path('admin-token')
}

try {
  process.exitCode = await demo()
} catch (error) {
  const { code, message } = error as NodeJS.ErrnoException
  const variables = 'TOLLGATE_LISTEN, TOLLGATE_ADMIN_LISTEN, SCORE_LISTEN, SYNC_LISTEN and CHART_LISTEN'
  const cure =
    code === 'EADDRINUSE'
      ? ` (${variables} choose other ones, as 127.0.0.1:PORT; where that is a demo, give the second one a folder of its own by TOLLGATE_HOME)`
      : ''
  console.error(`${message}${cure}`)
  process.exitCode = 1
}
