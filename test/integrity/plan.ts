import type { Way } from '../setup/ways.ts'
import { createRandom, type Random } from '../simulate/random.ts'

/** What happens in a world: everything that is chosen by chance, so that a seed and a number give it again. */

export interface WorldPlan {
  readonly seed: number
  readonly number: number
  readonly way: Way
  /** Keys of `upstream` and of `edge`. */
  readonly upstream: string
  readonly edge: string
  /** Whether the upstream closes connections unannounced. */
  readonly closes: boolean
  readonly sessions: readonly SessionPlan[]
  /** Sessions at a time. */
  readonly loops: number
}

/** One connection of a client. */
export interface SessionPlan {
  readonly number: number
  readonly user: string
  /** What is sent at once; the next batch when all of its responses are there. */
  readonly batches: readonly (readonly RequestPlan[])[]
  readonly cutting: Cutting
  /** When the client does not read for a while. */
  readonly pauses: readonly Pause[]
  readonly leaves: Leaving | null
}

export interface Pause {
  /** Bytes that have been received. */
  readonly at: number
  readonly ms: number
}

/** The client goes before the end: once so many bytes are sent or received. */
export interface Leaving {
  readonly how: 'close' | 'reset' | 'end'
  readonly sent: number
  readonly received: number
}

export interface RequestPlan {
  /** Of 31 bits: its upload has the number with the highest bit. */
  readonly id: number
  readonly session: number
  readonly user: string
  readonly method: 'GET' | 'HEAD' | 'POST' | 'PUT' | 'DELETE' | 'OPTIONS'
  readonly version: '1.0' | '1.1'
  readonly upload: Upload | null
  readonly takesTrailers: boolean
  /** The protocol that it asks for and does not get, so that what comes behind it must not be lost; `null` for none. */
  readonly upgrade: string | null
  /** What is sent behind the 101 of a WebSocket, in turns: bytes of the client and of the upstream. `null`: it opens none. */
  readonly turns: readonly Turn[] | null
  /** Whether it says `Connection: close`. */
  readonly last: boolean
  readonly response: ResponsePlan
}

/** The gateway looks at no frame, so these are bytes that name their request, like all bodies. */
export interface Turn {
  readonly up: number
  readonly down: number
}

export interface Upload {
  readonly size: number
  readonly chunks: Chunks | null
  readonly expects: boolean
}

export interface Chunks {
  readonly size: number
  readonly extension: string
  readonly trailers: boolean
}

export interface ResponsePlan {
  readonly status: number
  readonly size: number
  /** It is a stream of events whose last one says these tokens, which are charged: 1 to 9. `null`: it costs 1. */
  readonly says: number | null
  readonly framing: 'length' | 'chunked' | 'close' | '1.0 length' | '1.0 close'
  readonly chunks: Chunks
  /** Statuses of interim responses. */
  readonly interim: readonly number[]
  readonly cutting: Cutting
  readonly delayMs: number
  /** How long the upstream reads nothing behind the head. */
  readonly readsAfterMs: number
  /** How much of the upload is read before the response: 1 is all of it. */
  readonly readFirst: number
  readonly after: 'keep' | 'close' | 'close unannounced' | 'close while idle'
  /** `reset`: instead of the response. `break`: in the middle of its body. */
  readonly fault: 'reset' | 'break' | null
}

/** How bytes leave in several writes. */
export interface Cutting {
  readonly how: 'whole' | 'head and body' | 'pieces' | 'bytes'
  readonly pieces: number
  readonly pauseMs: number
}

/** Longer than its last event. */
const SHORTEST_STREAM = 40
const STATUSES = [...Array(30).fill(200), 404, 404, 500, 204, 304]
/** An upload up to this size is read whole before the charge (docs/contributing/life-of-a-request.md). */
export const SMALL = 64 * 1024
const SESSIONS = 40
const WEBSOCKETS = 6

/** @param number from 0 */
export function planWorld(seed: number, number: number, way: Way): WorldPlan {
  const random = createRandom(seed * 7919 + number)
  const connections = random.pick([1, 2, 3, 4, 6, 8, 64])
  const closes = random.chance(0.4)
  const plan = { random, closes, faults: random.chance(0.4), nextId: () => (number << 14) + ids++ }
  let ids = 1
  const reuse = random.chance(0.85)
  const edge = random.pick(['', '', '', 'max_body: 8MiB', 'half_close: answer'])
  return {
    seed,
    number,
    way,
    upstream: `max_connections: ${connections}, reuse_after_body: ${reuse}`,
    edge,
    closes,
    sessions: [
      ...Array.from({ length: SESSIONS }, (_, i) => planSession(plan, i)),
      ...Array.from({ length: WEBSOCKETS }, (_, i) => planWebSocket(plan, SESSIONS + i)),
    ],
    loops: Math.min(24, connections + 4),
  }
}

interface Planning {
  readonly random: Random
  readonly closes: boolean
  readonly faults: boolean
  readonly nextId: () => number
}

function planSession(planning: Planning, number: number): SessionPlan {
  const { random } = planning
  const kind = random.weighted({ stays: 8, leaves: 2, 'leaves a small upload': 1 })
  if (kind === 'leaves a small upload') return planSmallLeaving(planning, number)
  const user = `${kind}-${random.integer(0, 3)}`
  const batches: RequestPlan[][] = []
  const total = random.integer(1, 6)
  const pipelines = random.chance(0.5)
  for (let left = total; left > 0; ) {
    const size = pipelines ? random.integer(1, left) : 1
    batches.push(planBatch(planning, { number, user, size, isEnd: size === left }))
    left -= size
  }
  const isSlow = random.chance(0.25)
  return {
    number,
    user,
    batches,
    cutting: planCutting(random),
    pauses: isSlow ? planPauses(random) : [],
    leaves: kind === 'leaves' ? planLeaving(random) : null,
  }
}

/** Some requests, and behind them a handshake on the same connection. */
function planWebSocket(planning: Planning, number: number): SessionPlan {
  const { random } = planning
  const user = `talks-${random.integer(0, 1)}`
  const before = Array.from({ length: random.integer(0, 2) }, () =>
    planBatch(planning, { number, user, size: 1, isEnd: false }),
  )
  const turns = Array.from({ length: random.integer(1, 6) }, () => ({
    up: random.pick([1, 125, 126, 4096, 65_536, 300_000]),
    down: random.pick([1, 125, 126, 4096, 65_536, 300_000]),
  }))
  const base = planRequest(planning, { session: number, user, last: false, alone: true })
  const size = turns.reduce((sum, { down }) => sum + down, 0)
  const plain = { framing: 'length', says: null, interim: [], readsAfterMs: 0, fault: null } as const
  const response: ResponsePlan = { ...base.response, ...plain, status: 101, size }
  const handshake: RequestPlan = {
    ...{ ...base, method: 'GET', version: '1.1', upload: null, upgrade: null, last: false },
    ...{ turns, response },
  }
  const pauses = random.chance(0.25) ? planPauses(random) : []
  return { number, user, batches: [...before, [handshake]], cutting: planCutting(random), pauses, leaves: null }
}

function planBatch(
  planning: Planning,
  { number, user, size, isEnd }: { number: number; user: string; size: number; isEnd: boolean },
): RequestPlan[] {
  const { random } = planning
  return Array.from({ length: size }, (_, i) => {
    const last = isEnd && i === size - 1 && random.chance(0.2)
    return planRequest(planning, { session: number, user, last, alone: size === 1 })
  })
}

/** A body up to 64 KiB, of which not all is sent: it is neither charged nor forwarded. */
function planSmallLeaving(planning: Planning, number: number): SessionPlan {
  const { random } = planning
  const user = 'leaves-a-small-upload'
  const base = planRequest(planning, { session: number, user, last: false, alone: true })
  const upload: Upload = { size: random.integer(2, SMALL), chunks: null, expects: false }
  const request: RequestPlan = { ...base, method: 'POST', version: '1.1', last: false, upload }
  // The head is longer than what is left over.
  const sent = upload.size - 1
  const leaves: Leaving = { how: random.pick(['close', 'reset', 'end']), sent, received: Number.POSITIVE_INFINITY }
  return { number, user, batches: [[request]], cutting: planCutting(random), pauses: [], leaves }
}

function planRequest(
  planning: Planning,
  { session, user, last, alone }: { session: number; user: string; last: boolean; alone: boolean },
): RequestPlan {
  const { random, nextId } = planning
  const method = random.weighted({ GET: 12, POST: 6, PUT: 2, HEAD: 1, DELETE: 1, OPTIONS: 1 })
  const hasBody = method === 'POST' || method === 'PUT' || (method !== 'HEAD' && random.chance(0.03))
  const version = last && random.chance(0.3) ? '1.0' : '1.1'
  const upload = hasBody ? planUpload(random, version === '1.1', alone) : null
  const takesTrailers = random.chance(0.4)
  const id = nextId()
  const response = planResponse(planning, { id, method, version, upload })
  // A WebSocket without a key is none.
  const upgrade = random.chance(0.1) ? random.pick(['h2c', 'TLS/1.2', 'SPDY/3.1', 'websocket']) : null
  return { id, session, user, method, version, upload, takesTrailers, upgrade, turns: null, last, response }
}

function planUpload(random: Random, mayChunk: boolean, alone: boolean): Upload {
  const size = sizeOf(random, { empty: 1, tiny: 6, small: 4, near: 4, middle: 3, large: 1 })
  const chunks = mayChunk && random.chance(0.5) ? planChunks(random, size) : null
  return { size, chunks, expects: alone && mayChunk && size > 0 && random.chance(0.3) }
}

function planResponse(
  planning: Planning,
  { id, method, version, upload }: Pick<RequestPlan, 'id' | 'method' | 'version' | 'upload'>,
): ResponsePlan {
  const { random, closes, faults } = planning
  const size = sizeOf(random, { empty: 1, tiny: 5, small: 4, near: 8, middle: 2, large: 1 })
  const hasUpload = upload !== null && upload.size > 0
  const fault = planFault(random, faults && version === '1.1' && size > 1, hasUpload, method)
  const framing = random.weighted({ length: 8, chunked: 8, close: 2, '1.0 length': 1, '1.0 close': 1 })
  const after = random.weighted({
    keep: 16,
    close: 1,
    'close unannounced': closes ? 2 : 0,
    'close while idle': closes ? 2 : 0,
  })
  return {
    status: fault === 'break' ? 200 : random.pick(STATUSES),
    size,
    says: size > SHORTEST_STREAM && id % 3 === 0 ? 1 + (id % 9) : null,
    // An end of the connection says nothing if it is the end of the body.
    framing: fault === 'break' ? 'chunked' : framing,
    chunks: planChunks(random, size),
    interim: random.chance(0.15)
      ? Array.from({ length: random.integer(1, 3) }, () => random.pick([100, 102, 103]))
      : [],
    cutting: planCutting(random),
    delayMs: random.pick([0, 0, 0, 0, 0, 5, 5, 40, 120]),
    readsAfterMs: hasUpload && random.chance(0.2) ? random.integer(20, 300) : 0,
    readFirst: hasUpload && random.chance(0.2) ? random.next() : 1,
    after,
    fault,
  }
}

/** Only an upload is reset: what else is sent again by the gateway, which is as it should be. */
function planFault(random: Random, faults: boolean, hasUpload: boolean, method: string): ResponsePlan['fault'] {
  if (!faults || random.chance(0.93)) return null
  if (hasUpload) return random.pick(['reset', 'break'])
  return method === 'GET' ? 'break' : null
}

const SIZES = {
  empty: [0, 0],
  tiny: [1, 200],
  small: [200, 20_000],
  near: [60_000, 90_000],
  middle: [90_000, 600_000],
  large: [2_000_000, 4_500_000],
} as const

function sizeOf(random: Random, weights: Record<keyof typeof SIZES, number>): number {
  const [least, most] = SIZES[random.weighted(weights)]
  return random.integer(least, most)
}

function planChunks(random: Random, size: number): Chunks {
  const least = Math.ceil(size / 1500)
  const sizes = [size, 65_536, 16_384, 4096, 1000, random.integer(1, 5000)]
  if (size < 2000) sizes.push(1, 7)
  return {
    size: Math.max(1, least, random.pick(sizes)),
    extension: random.pick(['', '', '', ';a', ';a=b', ';a="b;c"']),
    trailers: random.chance(0.25),
  }
}

function planCutting(random: Random): Cutting {
  const how = random.weighted({ whole: 6, 'head and body': 3, pieces: 4, bytes: 1 })
  return { how, pieces: random.integer(2, 30), pauseMs: random.pick([0, 0, 0, 1, 3]) }
}

/** With the first one mostly before anything is read, so that the buffers of the kernel fill. */
function planPauses(random: Random): Pause[] {
  const first = { at: random.chance(0.6) ? 0 : random.integer(0, 200_000), ms: random.integer(50, 400) }
  const more = Array.from({ length: random.integer(0, 3) }, () => ({
    at: random.integer(0, 3_000_000),
    ms: random.integer(5, 120),
  }))
  return [first, ...more].sort((a, b) => a.at - b.at)
}

function planLeaving(random: Random): Leaving {
  const how = random.pick(['close', 'reset', 'end'] as const)
  const within = random.pick([300, 3000, 80_000, 400_000, 3_000_000])
  const nowhere = Number.POSITIVE_INFINITY
  return random.chance(0.5)
    ? { how, sent: nowhere, received: random.integer(0, within) }
    : { how, sent: random.integer(1, within), received: nowhere }
}
