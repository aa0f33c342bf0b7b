import { FairQueue } from '../lib/fair-queue.ts'

/** A client that asks a provider about a credential. */
export interface Asker {
  /** Whether the credential was accepted recently. Any other may be made up. */
  readonly isKnown: boolean
  /** An address, or an IPv6 /48. In each round every party has one turn. */
  readonly party: string
}

/** Questions to one provider at a time. */
export const PLACES = 64
/**
 * The most questions of each kind: about recently accepted credentials, and about others. So each kind has places that the other
 * cannot take. Recently accepted credentials are served first if one of their places is free.
 */
const MOST = { known: 48, unknown: 32 }
/** How many questions of each kind may wait. */
const MOST_WAITING = 256
/** In milliseconds. A question that has waited for this long is not asked. */
const WAIT_MS = 2000

/** The questions of one kind. */
class Lane {
  readonly most: number
  held = 0
  readonly waiting = new FairQueue<(isGiven: boolean) => void>(MOST_WAITING)

  constructor(most: number) {
    this.most = most
  }
}

export interface ProviderPlaces {
  /** Waits for a place. @returns whether there is one, which must be given back */
  take(asker: Asker): boolean | Promise<boolean>
  give(asker: Asker): void
}

export function createProviderPlaces(): ProviderPlaces {
  const [known, unknown] = [new Lane(MOST.known), new Lane(MOST.unknown)]
  const laneOf = ({ isKnown }: Asker): Lane => (isKnown ? known : unknown)

  function isFree({ held, most }: Lane): boolean {
    return held < most && known.held + unknown.held < PLACES
  }

  function take(asker: Asker): boolean | Promise<boolean> {
    const lane = laneOf(asker)
    if (!isFree(lane)) return wait(lane, asker.party)
    lane.held++
    return true
  }

  function wait({ waiting }: Lane, party: string): Promise<boolean> {
    return new Promise((resolve) => {
      const end = (isGiven: boolean): void => {
        clearTimeout(timer)
        resolve(isGiven)
      }
      const timer = setTimeout(() => {
        waiting.remove(party, end)
        resolve(false)
      }, WAIT_MS)
      waiting.push(party, end)?.(false)
    })
  }

  /** Hands a free place on at once, so that nobody waits while a place is free. */
  function give(asker: Asker): void {
    laneOf(asker).held--
    const next = [known, unknown].find((lane) => lane.waiting.size > 0 && isFree(lane))
    if (next === undefined) return
    next.held++
    next.waiting.shift()?.(true)
  }

  return { take, give }
}
