import * as schemas from '../../contract/admin.ts'
import { together } from '../../lib/serialize.ts'
import { ok, type Route } from '../http.ts'
import { route } from '../route.ts'

export interface ProbeOptions {
  /** Whether to keep the process. `false` makes it restart. */
  readonly live: () => boolean
  /**
   * Whether traffic should come. A process that is ready may still give reasons that say what it lacks. With `startup` only the gateway's own
   * start counts, because a sidecar must be up before its application, and a restart would not bring back a store.
   */
  readonly ready: (startup: boolean) => { ready: boolean; reasons: string[] }
  readonly metrics: { render(): Promise<string>; readonly contentType: string }
  /** Takes the gateway out of service and back. Without this there is no /drain. */
  readonly drain?: { isOn(): boolean; turn(on: boolean): void }
}

/** The probes of the environment, which have no credential. */
export function probeRoutes({ live, ready, metrics, drain }: ProbeOptions): Route[] {
  const render = together(() => metrics.render())
  return [
    route('GET', '/livez', {
      guard: 'open',
      summary: 'Whether the process is worth keeping',
      responses: { 200: schemas.live, 503: schemas.live },
      handle: () => ({ status: live() ? 200 : 503, body: { live: live() } }),
    }),
    // Not made with `route`, because an unknown parameter must not make a gateway unready.
    {
      method: 'GET',
      path: '/readyz',
      guard: 'open',
      doc: {
        summary: 'Whether the gateway should get traffic, and why not, or what does not work',
        query: schemas.startup,
        responses: { 200: schemas.ready, 503: schemas.ready },
      },
      handle({ query }) {
        const { ready: yes, reasons } = ready(query.startup === '1')
        if (!yes) return { status: 503, body: { ready: false, reasons } }
        return ok({ ready: true, ...(reasons.length > 0 && { degraded: reasons }) })
      },
    },
    route('GET', '/metrics', {
      guard: 'open',
      summary: 'Metrics in the text format of Prometheus',
      responses: { 200: 'text' },
      errors: ['overloaded'],
      handle: async () => ({ status: 200, body: await render(), contentType: metrics.contentType }),
    }),
    ...(drain === undefined ? [] : [drainRoute(drain)]),
  ]
}

const OUT =
  'Out of service: /readyz is 503 and every response closes its connection, until you send POST /drain?state=off or run tollgate drain --end.'
const BACK = 'In service again.'
const ENDING = 'Out of service: the gateway is being stopped.'

/** Without a state each call switches to the other one. A script that may run twice names the state that it wants. */
function drainRoute(drain: NonNullable<ProbeOptions['drain']>): Route {
  return route('POST', '/drain', {
    guard: 'machine',
    summary: 'Takes the gateway out of service. The next call brings it back',
    query: schemas.drain,
    responses: { 200: schemas.draining },
    handle({ query }) {
      const { state } = query
      const on = state === undefined ? !drain.isOn() : state === 'on'
      drain.turn(on)
      const draining = drain.isOn()
      return ok({ draining, msg: draining ? (on ? OUT : ENDING) : BACK })
    },
  })
}
