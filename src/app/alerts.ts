import { randomUUID } from 'node:crypto'
import { type Alert, type FailureAlert, targetOf, type WindowAlert } from '../alerts/alert.ts'
import { type Courier, createCourier, type Delivery } from '../alerts/courier.ts'
import { createFailureWatch, type FailureWatch } from '../alerts/failure-watch.ts'
import { createFormerAlerts } from '../alerts/former-alerts.ts'
import { createRaiser } from '../alerts/raiser.ts'
import { createSecondLooks } from '../alerts/second-looks.ts'
import { createWatch, type Watch } from '../alerts/watch.ts'
import type { AlertConfig } from '../config/config.ts'
import type { Observer } from '../observe/observation.ts'
import type { Store } from '../store/store.ts'

/** Notices, keeps and delivers what the alerts of the configuration in force are about. */
export interface Alerts {
  /** Looks at the windows of each charge, and again where its cost is corrected to more. */
  readonly observer: Observer
  readonly noteFailures: FailureWatch['note']
  /** Other alerts are in force from now on. What is pending of those with the same names, or with former names and the same receiver, goes to theirs. */
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
  /** Of each alert by name. */
  let targets: ReadonlyMap<string, string> = new Map()
  let watch: Watch | null = null
  let failureWatch: FailureWatch | null = null
  const raiser = createRaiser({
    store,
    observe,
    targetOf: (alert) => targets.get(alert) ?? '',
    onStored: () => courier.wake(),
  })
  const looks = createSecondLooks({
    store,
    note: (outcome) => watch?.note(outcome),
    onError: (error) => observe({ type: 'internal_error', where: 'alerts', error }),
  })
  const courier: Courier = createCourier({
    store,
    alerts: () => [...receivers.keys(), ...former.adopted().keys()],
    deliver: async (event, signal) => {
      const receiver = receivers.get(event.alert) ?? receiverAt(former.adopted().get(event.alert))
      // A reload has taken it away meanwhile.
      if (receiver === undefined) return { kind: 'failed', error: 'the alert is not configured any more' }
      // Most gateways notify nobody.
      const { deliver } = await import('../webhook/webhook.ts')
      return deliver(receiver, event, signal)
    },
    observe,
  })
  const former = createFormerAlerts({ store, targets: () => targets, onAdopted: () => courier.wake(), observe })

  /** Any of those with the target. */
  function receiverAt(target: string | undefined): AlertConfig['webhook'] | undefined {
    return target === undefined ? undefined : [...receivers.values()].find(({ url }) => targetOf(url) === target)
  }

  function arrange(next: readonly AlertConfig[]): void {
    const all = next.map(alertOf)
    const ofWindows = all.filter((alert): alert is WindowAlert => alert.scope !== 'failures')
    const ofFailures = all.filter((alert): alert is FailureAlert => alert.scope === 'failures')
    receivers = new Map(next.map(({ name, webhook }) => [name, webhook]))
    targets = new Map(next.map(({ name, webhook }) => [name, targetOf(webhook.url)]))
    watch = ofWindows.length === 0 ? null : createWatch({ alerts: ofWindows, raise: raiser.raise })
    failureWatch = ofFailures.length === 0 ? null : createFailureWatch(ofFailures, raiser.raise)
  }

  arrange(alerts)
  return {
    observer: (seen) => {
      if (seen.type !== 'settled' || watch === null) return
      if (seen.kind !== 'corrected') watch.note(seen)
      else if (seen.tokens > 0 && watch.isWatched(seen.charge)) looks.add(seen)
    },
    noteFailures: (buckets, at) => failureWatch?.note(buckets, at),
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
      looks.close()
      await raiser.close()
      await Promise.all([courier.close(graceMs), former.close(graceMs)])
    },
  }
}

/** One attempt, of which nothing is kept. @returns `null` if the configuration has no alert of this name */
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

/** The configuration was checked: a window has its category and its name. */
function alertOf({ name, scope, category, window, minRequests, at }: AlertConfig): Alert {
  if (scope === 'failures') return { name, scope, at, minRequests: minRequests ?? 0 }
  return { name, scope, category: category ?? '', window: window ?? '', at }
}
