import { FairQueue } from '../lib/fair-queue.ts'

/** Whose credential a provider is asked about. */
export interface Asker {
  /** Whether the credential was good lately. Of any other it is not known whether it is anything but made up. */
  readonly isKnown: boolean
  /** Who has one turn in each round with all others: an address, or an IPv6 /48. */
  readonly party: string
}

/** Questions to one provider at a time. */
export const PLACES = 64
/**
 * Most of them about credentials that were good lately, and about others: so each kind always has places that the other cannot take. A
 * credential that was good lately goes first where one of them is free, and waits for none of the others.
 */
const MOST = { known: 48, unknown: 32 }
/** Most that wait, of each kind. */
const MOST_WAITING = 256
/** Whoever has waited so long, in milliseconds, is not asked about. */
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
  /** Waits for a place. @returns whether there is one, which is to be given back */
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

  /** A place that is given back is handed on at once: nobody waits while one is free. */
  function give(asker: Asker): void {
    laneOf(asker).held--
    const next = [known, unknown].find((lane) => lane.waiting.size > 0 && isFree(lane))
    if (next === undefined) return
    next.held++
    next.waiting.shift()?.(true)
  }

  return { take, give }
}
