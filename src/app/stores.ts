import { setTimeout as sleep } from 'node:timers/promises'
import type { StoreConfig } from '../config/config.ts'
import { messageOf } from '../errors.ts'
import type { Observer } from '../observe/observation.ts'
import { NO_RETENTION, type Retention } from '../quota/history.ts'
import { replaceable } from '../store/replaceable.ts'
import type { Store } from '../store/store.ts'
import { SetupError } from './setup-error.ts'
import type { Opening } from './store-kinds/kind.ts'
import { kindOf } from './store-kinds/kinds.ts'
import { createStoreWarnings, type StoreWarnings } from './store-warnings.ts'
import { createUnreadableRecords } from './unreadable-records.ts'

/** The store of a gateway, which can change its login without interruption. */
export interface GatewayStore extends Store {
  /**
   * Takes over the login and the certificates of a configuration with the same store, if they have changed, and how long runs are kept. A
   * shorter time deletes runs for good, so this is the last step before the configuration is in force.
   * @throws SetupError with the cure, if the login cannot be used; everything then stays
   */
  reload(config: StoreConfig, retention: Retention): Promise<void>
}

/**
 * Opens the configured store for a gateway.
 * @param retention how long runs are kept. Default: they are not kept
 * @throws SetupError with the cure, if it cannot be used
 */
export async function openStore(
  config: StoreConfig,
  observe: Observer,
  retention: Retention = NO_RETENTION,
): Promise<GatewayStore> {
  let access = kindOf(config.location).access(config)
  let kept = retention
  const keeping = (): Retention => kept
  let current: Store | null = null
  const unreadable = createUnreadableRecords(observe, async (list, id) => current?.isUnreadable(list, id) ?? true)
  const warnings = createStoreWarnings(unreadable.observe)
  const { store, replace } = replaceable(
    await open(config, { warnings, toWrite: true, retention: keeping }),
    4 * config.deadlineMs,
  )

  current = store

  async function renew(next: StoreConfig): Promise<void> {
    const wanted = kindOf(next.location).access(next)
    if (JSON.stringify(wanted) === JSON.stringify(access)) return
    const ofNew = heldBack(warnings)
    const opened = await open(next, { warnings: ofNew, toWrite: true, retention: keeping })
    const problem = await problemOf(opened, PATIENCE_MS)
    // If the old store does not work either, the new one loses nothing.
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

  async function reload(next: StoreConfig, nextRetention: Retention): Promise<void> {
    await renew(next)
    kept = nextRetention
  }

  return { ...store, reload, close }
}

/** Holds the warnings of a new store back until it is used, because it may be refused. Its other reports are dropped until then. */
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

/** How long making a new connection may take, in milliseconds. */
const PATIENCE_MS = 5000

/** Why a store does not respond within `patienceMs`; `null` if it does. It is asked again, because Redis connects in the background. */
export async function problemOf(store: Pick<Store, 'ping'>, patienceMs: number): Promise<string | null> {
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

/** Opens the configured store for a command that only reads, for which a read-only file is enough. @param observe default none */
export async function openStoreToLook(
  config: StoreConfig,
  observe: Observer = () => {},
  retention?: Retention,
): Promise<Store> {
  const keeping = retention === undefined ? undefined : () => retention
  return open(config, { warnings: createStoreWarnings(observe), toWrite: false, retention: keeping })
}

function open(config: StoreConfig, opening: Opening): Promise<Store> {
  return kindOf(config.location).open(config, opening)
}
