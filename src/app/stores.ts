import { setTimeout as sleep } from 'node:timers/promises'
import type { ClientTls, StoreConfig } from '../config/config.ts'
import { messageOf } from '../errors.ts'
import { fileIdentity } from '../lib/file-identity.ts'
import { repeat } from '../lib/repeat.ts'
import type { ClientCredentials } from '../lib/tls.ts'
import type { Observer, StoreWarning } from '../observe/observation.ts'
import { NO_RETENTION, type Retention } from '../quota/history.ts'
import type { RedisAccess } from '../store/redis/client.ts'
import { replaceable } from '../store/replaceable.ts'
import { cureOf } from '../store/sqlite/cures.ts'
import { openSqliteStore } from '../store/sqlite/sqlite-store.ts'
import type { Store } from '../store/store.ts'
import { readClientTls } from './certificate.ts'
import { SetupError } from './setup-error.ts'
import { createStoreWarnings, type StoreWarnings } from './store-warnings.ts'
import { createUnreadableRecords } from './unreadable-records.ts'

/** The store of a gateway, which may be given another login without a pause. */
export interface GatewayStore extends Store {
  /**
   * Takes over login and certificates of a configuration that names the same store, if they have changed.
   * @throws SetupError with the cure, if they cannot be used; the old ones then stay
   */
  renew(config: StoreConfig): Promise<void>
  /** How long runs are kept from now on. What is kept for less is deleted for good: only for a configuration that is in force. */
  keep(retention: Retention): void
}

/**
 * Opens the store that a configuration names, for a gateway.
 * @param retention how long runs are kept. Default: not at all
 * @throws SetupError with the cure, if it cannot be used
 */
export async function openStore(
  config: StoreConfig,
  observe: Observer,
  retention: Retention = NO_RETENTION,
): Promise<GatewayStore> {
  let access = accessOf(config)
  let kept = retention
  const keeping = (): Retention => kept
  let current: Store | null = null
  const unreadable = createUnreadableRecords(observe, async (list, id) => current?.isUnreadable(list, id) ?? true)
  const warnings = createStoreWarnings(unreadable.observe)
  const { store, replace } = replaceable(await open(config, warnings, true, keeping), 4 * config.deadlineMs)

  current = store

  async function renew(next: StoreConfig): Promise<void> {
    const wanted = accessOf(next)
    if (JSON.stringify(wanted) === JSON.stringify(access)) return
    const ofNew = heldBack(warnings)
    const opened = await open(next, ofNew, true, keeping)
    const problem = await problemOf(opened, PATIENCE_MS)
    // If the old one is of no use either, nothing is lost by the new one.
    if (problem !== null && (await problemOf(store, 0)) === null) {
      await opened.close()
      throw new SetupError(['store'], `the new login or certificate is refused (${problem}): ${UNCHANGED}`)
    }
    access = wanted
    replace(opened)
    ofNew.use()
    observe({ type: 'store_login_renewed', problem })
  }

  async function close(): Promise<void> {
    unreadable.stop()
    await store.close()
  }

  function keep(next: Retention): void {
    kept = next
  }

  return { ...store, renew, keep, close }
}

/** Warnings of a store that may never be in use are kept until then. What else it reports before is not heard. */
function heldBack({ observe, begin, only }: StoreWarnings): StoreWarnings & { use(): void } {
  let held: (() => void)[] | null = []
  const pass = (report: () => void): void => void (held === null ? report() : held.push(report))
  return {
    observe: (seen) => (held === null || seen.type === 'store_warning') && pass(() => observe(seen)),
    begin: (warning, message) => pass(() => begin(warning, message)),
    only: (warnings) => pass(() => only(warnings)),
    use() {
      for (const report of held ?? []) report()
      held = null
    },
  }
}

const UNCHANGED = 'the old one stays in use; check it, and reload'

/** How long a new connection may take to be made. */
const PATIENCE_MS = 5000

/** Why a store does not respond; `null` if it does. A Redis connects in the background. */
async function problemOf(store: Store, patienceMs: number): Promise<string | null> {
  const until = performance.now() + patienceMs
  for (;;) {
    try {
      await store.ping()
      return null
    } catch (error) {
      if (performance.now() > until) return messageOf(error)
      await sleep(20)
    }
  }
}

/** Where the store is and who we are there, with what lies in the files now. @throws SetupError */
export function accessOf({ location, username, password, tls, sentinel }: StoreConfig): RedisAccess | null {
  if (location.kind !== 'redis') return null
  return {
    url: location.url,
    ...(username !== null && { username }),
    ...(password !== null && { password }),
    ...(tls !== null && { tls: readClientTls(tls, ['store_options', 'tls']) }),
    ...(sentinel !== null && { sentinel: sentinelAccess(sentinel, tls) }),
  }
}

function sentinelAccess(
  { username, password, tls }: NonNullable<StoreConfig['sentinel']>,
  ofRedis: StoreConfig['tls'],
): NonNullable<RedisAccess['sentinel']> {
  return {
    ...(username !== null && { username }),
    ...(password !== null && { password }),
    ...(tls !== null && { tls: tls === false ? null : sentinelTls(tls, ofRedis) }),
  }
}

/** @param tls `true`: with the files of Redis itself, if it has any */
function sentinelTls(tls: true | ClientTls, ofRedis: ClientTls | null): ClientCredentials {
  if (tls !== true) return readClientTls(tls, ['store_options', 'sentinel', 'tls'])
  return ofRedis === null ? {} : readClientTls(ofRedis, ['store_options', 'tls'])
}

/**
 * The same for a command, for which a file that it can only read is enough.
 * @param observe default nobody hears
 */
export async function openStoreToLook(
  config: StoreConfig,
  observe: Observer = () => {},
  retention?: Retention,
): Promise<Store> {
  return open(config, createStoreWarnings(observe), false, retention === undefined ? undefined : () => retention)
}

/**
 * The client of Redis is loaded with its store. It takes 10 MB and 50 ms of CPU, which a gateway with the embedded
 * store does not spend.
 */
async function open(
  config: StoreConfig,
  warnings: StoreWarnings,
  toWrite: boolean,
  retention: (() => Retention) | undefined,
): Promise<Store> {
  const { location, prefix, deadlineMs } = config
  const { observe, only } = warnings
  const kept = retention === undefined ? {} : { retention }
  const access = accessOf(config)
  if (access !== null) {
    const { openRedisStore } = await import('../store/redis/redis-store.ts')
    return openRedisStore({ ...access, prefix, deadlineMs, ...kept, observe, onChecked: only })
  }
  if (location.kind === 'redis') throw new Error('a Redis without access')
  try {
    const store = openSqliteStore({ file: location.path, toWrite, ...kept, observe })
    return reportingItsFile(store, location.path, warnings)
  } catch (cause) {
    const why = messageOf(cause)
    throw new SetupError(['store'], `cannot open ${location.path} (${why}): ${cureOf(why) ?? ANOTHER_FILE}`, cause)
  }
}

/**
 * Not if the file has a cure of its own. Another file would be empty, with full quotas for everybody and no access
 * keys.
 */
const ANOTHER_FILE = 'name a file in a folder that exists and can be written, or a database that Tollgate made'

/**
 * SQLite goes on in a file that was taken away or replaced, and responds as if nothing were wrong. What is charged and
 * changed from then on is gone with the process, and nobody else sees it. So it is looked whether the file is still
 * there, every second, with each ping, and at the end.
 */
function reportingItsFile(store: Store, path: string, { observe, begin, only }: StoreWarnings): Store {
  const opened = fileIdentity(path)
  const isLost = (): boolean => fileIdentity(path) !== opened
  const stopLooking = repeat(look, LOOK_MS)

  function look(): void {
    if (isLost()) begin('file_gone', lostFile(path))
    else only(NO_WARNINGS)
  }

  return {
    ...store,
    async ping() {
      await store.ping()
      look()
    },
    async close() {
      stopLooking()
      if (isLost()) observe({ type: 'store_lost', file: path })
      await store.close()
    },
  }
}

/** Between two looks at the file of an embedded store, in milliseconds. */
const LOOK_MS = 1000

const NO_WARNINGS = new Set<StoreWarning>()

function lostFile(path: string): string {
  return `${path} is gone, or another file, and the one before is still in use: its charges and tokens end with this process; put it back, or restart the gateway`
}
