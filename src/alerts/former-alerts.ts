import { setTimeout as sleep } from 'node:timers/promises'
import { repeat } from '../lib/repeat.ts'
import type { Observer } from '../observe/observation.ts'
import { StoreError } from '../quota/quota-store.ts'
import type { AlertStore, KnownAlert } from './alert-store.ts'
import { GIVE_UP_MS } from './courier.ts'

/**
 * Finds alerts with pending events whose names the configuration in force does not have: they were renamed or removed, or only another
 * process has them. If an alert of today has the same target, the events are delivered there. Other events wait a day for a process that
 * has the name, and are then given up.
 */
export interface FormerAlerts {
  /** Begins to look. */
  start(): void
  /** Reports that other alerts are in force. */
  look(): void
  /** The target by the former name of each alert whose events can be delivered. */
  adopted(): ReadonlyMap<string, string>
  /** Stops. Never rejects. @param graceMs how long the store may take */
  close(graceMs: number): Promise<void>
}

export interface FormerAlertsOptions {
  readonly store: Pick<AlertStore, 'listAlerts' | 'giveUpAlerts'>
  /** The target of each alert of the configuration in force, by name. */
  readonly targets: () => ReadonlyMap<string, string>
  readonly onAdopted: () => void
  readonly observe: Observer
  /** How often the store is looked at, in milliseconds. Default 60000. */
  readonly everyMs?: number
}

export function createFormerAlerts(options: FormerAlertsOptions): FormerAlerts {
  const { store, targets, onAdopted, observe, everyMs = 60_000 } = options
  /** The alerts that were already reported to have waiting events. */
  let waiting: ReadonlySet<string> = new Set()
  let adopted: ReadonlyMap<string, string> = new Map()
  let stop: (() => void) | null = null
  let looking: Promise<void> = Promise.resolve()

  function look(): void {
    if (stop !== null) looking = looking.then(lookNow)
  }

  async function lookNow(): Promise<void> {
    if (stop === null) return
    try {
      const known = await store.listAlerts()
      const ours = targets()
      const former = known.filter(({ alert }) => !ours.has(alert))
      adopt(former, new Set(ours.values()))
      for (const { alert, pending } of former) {
        // The courier gives up what it cannot deliver for a day. A name without events is forgotten here.
        if (pending > 0 && adopted.has(alert)) continue
        const count = await store.giveUpAlerts(alert, GIVE_UP_MS, GONE)
        if (count > 0) observe({ type: 'former_alert', alert, count, isGivenUp: true })
      }
    } catch (error) {
      // The courier and the raiser report a store that fails. Waiting events are looked at again later.
      if (!(error instanceof StoreError)) observe({ type: 'internal_error', where: 'alerts', error })
    }
  }

  function adopt(former: readonly KnownAlert[], configured: ReadonlySet<string>): void {
    const [theirs, others] = [true, false].map((has) => former.filter(({ target }) => configured.has(target) === has))
    adopted = new Map(theirs?.map(({ alert, target }) => [alert, target]))
    const unheard = others?.filter(({ pending }) => pending > 0) ?? []
    for (const { alert, pending } of unheard) {
      if (!waiting.has(alert)) observe({ type: 'former_alert', alert, count: pending, isGivenUp: false })
    }
    waiting = new Set(unheard.map(({ alert }) => alert))
    if (adopted.size > 0) onAdopted()
  }

  return {
    start() {
      stop = repeat(look, everyMs)
      look()
    },
    look,
    adopted: () => adopted,
    async close(graceMs) {
      stop?.()
      stop = null
      await Promise.race([looking, sleep(graceMs, undefined, { ref: false })])
    },
  }
}

const GONE = 'no configuration has had the alert, or one with its target, for a day'
