import { connect, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'

/** Fifty users, each at its own address, who ask while somebody attacks. */

export const OTHERS = 50
/** The interval of the requests of each user, in milliseconds. A request waits for the end of the one before. */
const EVERY_MS = 500
/** How long a user waits for a response, in milliseconds. */
const PATIENCE_MS = 8000
/** The time within which each request has to be served, in milliseconds. */
export const SOON_MS = 1000

/** One kind of requests that the users send. */
export interface Kind {
  readonly name: string
  readonly port: number
  /** Whether the request goes over a connection that was opened before the attack, or over a new one. */
  readonly kept: boolean
  /** The only status that counts as served. */
  readonly status: 200 | 101
  /** @param user 0 to 49 */
  readonly text: (user: number) => string
}

export interface Served {
  /** How many of the fifty users got all requests served soon. */
  readonly soon: number
  /** Milliseconds; infinite for requests that were not served. */
  readonly waits: readonly number[]
  /** How often each other result came, for example `new: 503`. */
  readonly instead: ReadonlyMap<string, number>
}

export interface Others {
  /** Lets all users ask for so many seconds, and waits for the last response. */
  ask(seconds: number): Promise<Served>
  close(): void
}

/** A status, or the code of an error, and the milliseconds until it came. */
interface Outcome {
  readonly came: string
  readonly ms: number
}

export function createOthers(kinds: readonly Kind[]): Others {
  const kept = new Map<string, Socket>()

  function socketOf(user: number, { kept: isKept, port }: Kind): Socket {
    const key = `${user}:${port}`
    const known = kept.get(key)
    if (isKept && known !== undefined && !known.destroyed) return known
    const socket = connect({ port, host: '127.0.0.1', localAddress: `127.0.1.${user + 1}`, noDelay: true })
    socket.on('error', () => {})
    if (isKept) kept.set(key, socket)
    return socket
  }

  async function askOne(user: number, kind: Kind): Promise<Outcome> {
    const socket = socketOf(user, kind)
    const begin = performance.now()
    socket.write(kind.text(user))
    const came = await cameOf(socket)
    if (!kind.kept || came === 'timeout') socket.destroy()
    return { came, ms: performance.now() - begin }
  }

  async function askAll(user: number, seconds: number, instead: Map<string, number>): Promise<number[]> {
    const waits: number[] = []
    const until = performance.now() + seconds * 1000
    await sleep((user * EVERY_MS) / OTHERS)
    for (let i = user; performance.now() < until; i++) {
      const kind = kinds[i % kinds.length] as Kind
      const { came, ms } = await askOne(user, kind)
      const isServed = came === `${kind.status}`
      waits.push(isServed ? ms : Number.POSITIVE_INFINITY)
      const what = `${kind.name}: ${came}`
      if (!isServed) instead.set(what, (instead.get(what) ?? 0) + 1)
      await sleep(Math.max(0, EVERY_MS - ms))
    }
    return waits
  }

  return {
    ask: async (seconds) => {
      const instead = new Map<string, number>()
      const all = await Promise.all(Array.from({ length: OTHERS }, (_, user) => askAll(user, seconds, instead)))
      const soon = all.filter((waits) => waits.every((ms) => ms <= SOON_MS)).length
      const waits = all.flat()
      return { soon, waits, instead }
    },
    close: () => {
      for (const socket of kept.values()) socket.destroy()
    },
  }
}

/** @returns the status of the response once it is complete, or why there is none */
function cameOf(socket: Socket): Promise<string> {
  return new Promise((resolve) => {
    let text = ''
    const end = (came: string): void => {
      clearTimeout(timer)
      socket.off('data', read).off('error', failed).off('close', closed)
      resolve(came)
    }
    const read = (piece: Buffer): void => {
      text += piece.toString('latin1')
      if (isWhole(text)) end(text.slice(9, 12))
    }
    const failed = ({ code }: NodeJS.ErrnoException): void => end(code ?? 'error')
    const closed = (): void => end(text.length >= 12 ? text.slice(9, 12) : 'closed')
    const timer = setTimeout(() => end('timeout'), PATIENCE_MS)
    socket.on('data', read).on('error', failed).on('close', closed)
  })
}

/** Whether the response is complete. Without a Content-Length its head is all of it. */
function isWhole(text: string): boolean {
  const end = text.indexOf('\r\n\r\n')
  if (end === -1) return false
  const length = /^content-length: *(\d+)/im.exec(text.slice(0, end + 2))?.[1] ?? '0'
  return text.length >= end + 4 + Number(length)
}
