import { ok, type Route } from './answer.ts'
import * as schemas from './schemas.ts'

export interface ProbeOptions {
  /** Whether the process is worth keeping; `false` has it restarted. */
  readonly live: () => boolean
  /** Whether traffic should come; reasons of one that is ready tell what it must do without. With `startup` only whether it has begun counts: as a sidecar we must be up before the application, and a restart brings no store back. */
  readonly ready: (startup: boolean) => { ready: boolean; reasons: string[] }
  readonly metrics: { render(): Promise<string>; readonly contentType: string }
  /** Begins to drain and returns at once. Called at most once. Without it there is no /drain. */
  readonly drain?: () => void
}

/** What the machinery around us asks, without a credential: it has none. */
export function probeRoutes({ live, ready, metrics, drain }: ProbeOptions): Route[] {
  return [
    {
      method: 'GET',
      path: '/livez',
      guard: 'open',
      doc: { summary: 'Whether the process is worth keeping', answers: { 200: schemas.live, 503: schemas.live } },
      handle: () => ({ status: live() ? 200 : 503, body: { live: live() } }),
    },
    {
      method: 'GET',
      path: '/readyz',
      guard: 'open',
      doc: {
        summary: 'Whether traffic should come, and why not or what is missing',
        query: schemas.startup,
        answers: { 200: schemas.ready, 503: schemas.ready },
      },
      handle({ query }) {
        const { ready: yes, reasons } = ready(query.startup === '1')
        if (!yes) return { status: 503, body: { ready: false, reasons } }
        return ok({ ready: true, ...(reasons.length > 0 && { degraded: reasons }) })
      },
    },
    {
      method: 'GET',
      path: '/metrics',
      guard: 'open',
      doc: { summary: 'Metrics in the text format of Prometheus', answers: { 200: 'text' } },
      handle: async () => ({ status: 200, body: await metrics.render(), contentType: metrics.contentType }),
    },
    ...(drain === undefined ? [] : [drainRoute(drain)]),
  ]
}

/**
 * The kubelet calls it as the preStop hook, by GET, without a credential and on the address of the pod, so loopback
 * cannot be demanded. What keeps others away is that this listener is not reachable for clients; what keeps a page
 * in an operator's browser away is the guard. A second call changes nothing.
 */
function drainRoute(drain: () => void): Route {
  let draining = false
  return {
    method: 'GET',
    path: '/drain',
    guard: 'host',
    doc: { summary: 'Takes the gateway out of service, for a preStop hook', answers: { 200: schemas.draining } },
    handle() {
      if (!draining) drain()
      draining = true
      return ok({ draining: true })
    },
  }
}
