import { fileURLToPath } from 'node:url'
import { folderAssets } from '../admin/assets.ts'
import { entryResponse } from '../admin/audit-entry.ts'
import type { AdminOptions } from '../admin/listener.ts'
import { Login } from '../admin/login.ts'
import { inForceOf, type Setup } from '../admin/state.ts'
import type { Priced } from '../admin/too-dear.ts'
import { ADMIN_NAME } from '../config/admin-name.ts'
import { type Config, chargedRules, type MeterConfig, metersIn } from '../config/config.ts'
import { fingerprint } from '../config/fingerprint.ts'
import type { ChangeFollower } from '../control/change-follower.ts'
import { COMMAND_LINE } from '../control/control-store.ts'
import { costsOf, dearest } from '../inputs/price.ts'
import { shownAsked } from '../inputs/shown-price.ts'
import { onceForEach } from '../lib/memo.ts'
import type { Observer } from '../observe/observation.ts'
import type { WindowStatuses } from '../quota/status.ts'
import type { Store } from '../store/store.ts'
import { openAdminListener } from './admin-listener.ts'
import { testAlert } from './alerts.ts'
import { openCertificate } from './certificate.ts'
import { explain, fileOrigin } from './explain.ts'
import { hasLeads } from './leads.ts'
import { peopleOf, proxyOf } from './people.ts'
import { usageRulesOf } from './retention.ts'

export interface AdminPlaneOptions
  extends Pick<AdminOptions, 'knownUsers' | 'ready' | 'adaptive' | 'lacksStore' | 'metrics' | 'drain' | 'version'> {
  /** The configuration in force. From a changed `admin` section the listener takes over only `tokens`, `oidc` and `trusted`. */
  readonly current: () => Config
  readonly store: Store
  /** The caller starts and closes it. A process that also serves requests has one follower for both purposes. */
  readonly control: ChangeFollower
  readonly observe: Observer
}

export interface AdminPlane {
  /** @throws Error if the address is not available */
  listen(): Promise<{ url: string }>
  /** Closes idle connections at once, and gives requests under way up to 2 seconds. */
  close(): Promise<void>
  /** A code for a sign-in link, which gives a session of `admin.token`; `null` if no such token is configured. */
  signInCode(): string | null
  /** The global windows as administrators see them. @throws StoreError */
  globalWindows(): Promise<WindowStatuses>
}

/** Makes the admin listener, in the only process of a gateway or in the primary of several. */
export function openAdminPlane({ current, store, ...parts }: AdminPlaneOptions): AdminPlane {
  const { listen, tls, hosts } = current().admin
  const certificate = tls === null ? null : openCertificate([tls], 'admin', parts.observe)
  const made = onceForEach(setupOf)
  const setup = () => made(current())
  const stopReporting = reportCommandLine(parts)
  const credentials = () => current().admin.tokens
  const login = new Login({ credentials, now: Date.now })
  const options = {
    listen,
    hosts,
    login,
    certificate,
    credentials,
    people: () => peopleOf(current().admin.oidc),
    proxy: () => proxyOf(current().admin.trusted),
    live: () => true,
    store,
    setup,
    explain: (question, inForce) => explain(current(), question, inForce),
    testAlert: (alert, signal) => testAlert(current(), alert, signal),
    assets: folderAssets(DASHBOARD),
    now: Date.now,
    ...parts,
  } satisfies AdminOptions
  const listener = openAdminListener(options, parts.observe)
  // A named token belongs to a person or a script, and the operator at the terminal must not act in that name.
  const ownToken = () => credentials().find(({ name, role }) => name === ADMIN_NAME && role === 'admin')
  return {
    listen: listener.listen,
    signInCode: () => {
      const own = ownToken()
      return own === undefined ? null : login.issueCode(own)
    },
    close: async () => {
      stopReporting()
      certificate?.close()
      await listener.close()
    },
    globalWindows: async () => {
      const { globalWindows } = await import('../admin/routes/quota.ts')
      return globalWindows({ store }, inForceOf(setup(), parts.control.state(), parts.adaptive().factor))
    },
  }
}

/** Reports changes that the command line made, so that the log of each running gateway has them. @returns a function that ends this */
function reportCommandLine({ control, observe }: Pick<AdminPlaneOptions, 'control' | 'observe'>): () => void {
  const since = performance.now()
  return control.followChanges((entry) => {
    // The first look at the store may bring changes from before the start, which other logs have reported.
    const isNew = control.storeTime() - entry.at <= performance.now() - since
    if (entry.who === COMMAND_LINE && isNew) observe({ type: 'changed', entry: entryResponse(entry), forgotten: 0 })
  })
}

/** The folder in which `npm run build` puts the dashboard: `dist/dashboard`, also for a process that runs the sources. */
const DASHBOARD = fileURLToPath(
  new URL(import.meta.url.endsWith('.ts') ? '../../dist/dashboard/' : '../dashboard/', import.meta.url),
)

/** The part of a configuration that administrators may see. It has nothing secret. */
export function setupOf(config: Config): Setup {
  const { file, auth, quota, upstream, store, routes, unmatched } = config
  const priced = pricedOf(config)
  return {
    file,
    hash: fingerprint(config),
    quota,
    adaptive: quota.adaptive,
    origin: fileOrigin(config),
    upstream: addressOf(upstream),
    store: store.location.kind,
    authShadow: auth.shadow,
    hasLeads: hasLeads(config.admin),
    storeOutage: quota.storeOutage,
    routes: routes.map(routeLine),
    unmatched: unmatched.kind,
    alerts: config.alerts.map(alertLine),
    priced,
    usage: usageRulesOf(config),
    exempt: new Set(quota.exempt?.users),
    cheapest: cheapestOf(priced),
  }
}

/** The address of the upstream, as people read it. */
function addressOf({ url, socket }: Config['upstream']): string {
  return socket === null ? url : `unix:${socket}`
}

/** The costs that the quota may refuse. Routes in shadow mode refuse nothing, and a cost of 0 always fits. */
function pricedOf(config: Config): Priced[] {
  return chargedRules(config).flatMap(({ match, shadow, ...meters }) =>
    metersIn(meters).flatMap(({ category, cost }) => {
      const costs = costsOf(cost).filter((tokens) => tokens > 0)
      return shadow || costs.length === 0 ? [] : [{ match, category, costs }]
    }),
  )
}

function cheapestOf(priced: readonly Priced[]): Map<string, number> {
  const cheapest = new Map<string, number>()
  for (const { category, costs } of priced) {
    cheapest.set(category, Math.min(...costs, cheapest.get(category) ?? Number.POSITIVE_INFINITY))
  }
  return cheapest
}

function alertLine({ webhook, at, ...alert }: Config['alerts'][number]) {
  return { ...alert, at: [...at], receiver: new URL(webhook.url).origin }
}

/** Whether any of a route's requests may count for the adaptive mode. */
function countsForHealth(route: Config['routes'][number]): boolean {
  if (route.health !== 'charged') return route.health === 'always'
  if (route.public) return false
  return metersIn(route).some(({ cost }) => dearest(cost) > 0)
}

function routeLine(route: Config['routes'][number]): Setup['routes'][number] {
  const { match, line, shadow } = route
  const health = countsForHealth(route)
  if (route.public) return { match, line, public: true, category: null, cost: null, price: null, health, shadow }
  const { others } = route
  return {
    match,
    line,
    public: false,
    ...meterLine(route),
    ...(others !== null && { others: others.map(meterLine) }),
    health,
    shadow,
  }
}

function meterLine({ category, cost }: MeterConfig) {
  return {
    category,
    cost: cost.kind === 'fixed' ? cost.cost : null,
    price: cost.kind === 'fixed' ? null : shownAsked(cost),
  }
}
