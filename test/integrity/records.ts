import type { RequestPlan, SessionPlan, WorldPlan } from './plan.ts'

/** What became of one request, on both sides of the gateway. */
export interface RequestRecord {
  readonly plan: RequestPlan
  readonly session: SessionRecord
  /** How much of it the client has given away. */
  sent: 'nothing' | 'a part' | 'all'
  /** Final heads that the client got. */
  status: number | null
  /** The code of the gateway's own response. */
  error: string | null
  /** Whether the end of the response came. */
  complete: boolean
  /** Heads of this request that the upstream saw. */
  heads: number
}

export interface SessionRecord {
  readonly plan: SessionPlan
  /** Whether the client has gone before the end, as planned. */
  left: boolean
  /** Whether the connection ended with a response that broke off, as the upstream was asked to. */
  broken: boolean
  /** Whether a response was so late that what was pipelined behind it need not be served. */
  late: boolean
  /** Of the socket. */
  error: string | null
}

export interface Bad {
  readonly world: WorldPlan
  readonly what: string
  readonly record: RequestRecord | null
}

/** The truth about a world, which both sides write down and which is judged at its end. */
export class Records {
  readonly requests = new Map<number, RequestRecord>()
  readonly bad: Bad[] = []
  readonly world: WorldPlan
  readonly isKnown = (id: number): boolean => this.requests.has(id & 0x7fffffff)
  /** Complete responses of the upstream, and the bytes of all bodies, both ways. */
  responses = 0
  bytes = 0
  /** Of bytes that were sent or came, on both sides: it stands still where nothing goes on. */
  portions = 0

  constructor(world: WorldPlan) {
    this.world = world
  }

  open(plan: SessionPlan): SessionRecord {
    const session: SessionRecord = { plan, left: false, broken: false, late: false, error: null }
    for (const request of plan.batches.flat()) {
      const none = { sent: 'nothing', status: null, error: null, complete: false, heads: 0 } as const
      this.requests.set(request.id, { plan: request, session, ...none })
    }
    return session
  }

  get(plan: RequestPlan): RequestRecord {
    return this.requests.get(plan.id) as RequestRecord
  }

  report(what: string, record: RequestRecord | null): void {
    this.bad.push({ world: this.world, what, record })
  }
}

/** The smallest facts of what is wrong, and the command that gives its world again. */
export function describeBad({ world, what, record }: Bad): string {
  const { seed, number, way, upstream, edge } = world
  const place = `${way.name}; upstream: { ${upstream} }, edge: { ${edge} }`
  const request = record === null ? '' : `\n  ${describeRequest(record)}`
  return `BAD ${what}${request}\n  ${place}\n  again: npm run integrity -- --seed ${seed} --world ${number}`
}

function describeRequest({ plan, session, sent, status, error, complete, heads }: RequestRecord): string {
  const { id, method, version, upload, response } = plan
  const { batches, pauses, leaves } = session.plan
  const place = `request ${id} of connection ${plan.session}`
  const asked = `${method} HTTP/${version}, upload ${JSON.stringify(upload)}, response ${JSON.stringify(response)}`
  const client = `batches of ${batches.map((batch) => batch.length).join(', ')}; pauses ${JSON.stringify(pauses)}`
  const seen = `sent: ${sent}, status ${status} ${error ?? ''}, complete: ${complete}, upstream heads ${heads}, ${session.error ?? 'no error'}`
  return [`${place}: ${asked}`, `${client}; leaves ${JSON.stringify(leaves)}`, seen].join('\n  ')
}
