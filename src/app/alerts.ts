import { createHash, randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { ALERT_KINDS } from '../alerts/alert-kinds.ts'
import { type Courier, createCourier, type Delivery } from '../alerts/courier.ts'
import { createFormerAlerts } from '../alerts/former-alerts.ts'
import { createRaiser } from '../alerts/raiser.ts'
import type { AlertConfig } from '../config/config.ts'
import type { Bucket } from '../failures/histogram.ts'
import type { Observer } from '../observe/observation.ts'
import type { Store } from '../store/store.ts'

/** Notices, stores and delivers the events of the configured alerts. */
export interface Alerts {
  /** Looks at what happens in this process. */
  readonly observer: Observer
  /** Looks at the histogram that each process reads anyway. @param at the store's time of the reading, in milliseconds since the epoch */
  noteFailures(buckets: readonly Bucket[], at: number): void
  /** Puts other alerts in force. Pending events go to the alert of the same name, or if that is gone, to an alert with the same receiver. */
  configure(alerts: readonly AlertConfig[]): void
  start(): void
  /** Never rejects. @param graceMs how long the store may take */
  close(graceMs: number): Promise<void>
}

export interface AlertsOptions {
  readonly store: Pick<
    Store,
    'raiseAlerts' | 'takeAlerts' | 'finishAlert' | 'listAlerts' | 'giveUpAlerts' | 'readUsage'
  >
  readonly observe: Observer
  readonly alerts: readonly AlertConfig[]
}

export function createAlerts({ store, observe, alerts }: AlertsOptions): Alerts {
  let receivers: ReadonlyMap<string, AlertConfig['webhook']> = new Map()
  /** The hash of each receiver's URL, by the name of the alert. */
  let targets: ReadonlyMap<string, string> = new Map()
  const raiser = createRaiser({
    store,
    observe,
    targetOf: (alert) => targets.get(alert) ?? '',
    onStored: () => courier.wake(),
  })
  const pause = (ms: number): Promise<void> => sleep(ms, undefined, { ref: false })
  const tools = { store, observe, raise: raiser.raise, pause }
  const watchers = ALERT_KINDS.map((kind) => ({ kind, watcher: kind.watcher(tools) }))
  const observers = watchers.flatMap(({ watcher }) => watcher.observer ?? [])
  const courier: Courier = createCourier({
    store,
    alerts: () => [...receivers.keys(), ...former.adopted().keys()],
    deliver: async (event, signal) => {
      const receiver = receivers.get(event.alert) ?? receiverAt(former.adopted().get(event.alert))
      // A reload has removed the alert meanwhile.
      if (receiver === undefined) return { kind: 'failed', error: 'the alert is not configured any more' }
      // Most gateways have no alerts, so the code is loaded when it is needed.
      const { deliver } = await import('../webhook/webhook.ts')
      return deliver(receiver, event, signal)
    },
    observe,
  })
  const former = createFormerAlerts({ store, targets: () => targets, onAdopted: () => courier.wake(), observe })

  /** The webhook of any alert with this target. */
  function receiverAt(target: string | undefined): AlertConfig['webhook'] | undefined {
    return target === undefined ? undefined : [...receivers.values()].find(({ url }) => targetOf(url) === target)
  }

  function arrange(next: readonly AlertConfig[]): void {
    receivers = new Map(next.map(({ name, webhook }) => [name, webhook]))
    targets = new Map(next.map(({ name, webhook }) => [name, targetOf(webhook.url)]))
    for (const { kind, watcher } of watchers) watcher.configure(next.filter(({ scope }) => scope in kind.scopes))
  }

  arrange(alerts)
  return {
    observer: (seen) => {
      for (const observer of observers) observer(seen)
    },
    noteFailures(buckets, at) {
      for (const { watcher } of watchers) watcher.noteFailures?.(buckets, at)
    },
    configure(next) {
      arrange(next)
      courier.wake()
      former.look()
    },
    start() {
      courier.start()
      former.start()
    },
    async close(graceMs) {
      for (const { watcher } of watchers) watcher.close?.()
      await raiser.close()
      await Promise.all([courier.close(graceMs), former.close(graceMs)])
    },
  }
}

/** The hash of a receiver's URL. It is stored in place of the URL, whose path may be a secret, and tells which alerts share a receiver. */
function targetOf(url: string): string {
  return createHash('sha256').update(url).digest('base64url')
}

/** Makes one attempt to deliver a test event, and stores nothing. @returns `null` if the configuration has no alert of this name */
export async function testAlert(
  { alerts }: { readonly alerts: readonly AlertConfig[] },
  name: string,
  signal: AbortSignal,
): Promise<Delivery | null> {
  const alert = alerts.find((each) => each.name === name)
  if (alert === undefined) return null
  const { deliver } = await import('../webhook/webhook.ts')
  return deliver(alert.webhook, { id: randomUUID(), tested: name, at: Date.now() }, signal)
}
