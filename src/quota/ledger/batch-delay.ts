/** Decides how long a batch waits for more charges before it goes out. */
export interface BatchDelay {
  /** Resolves when the next batch is to go out. @returns for how many milliseconds it waited */
  next(): Promise<number>
  /** Whether a batch is waiting, so that the store has not been asked yet. */
  isUnderWay(): boolean
  /** Notes that a batch went out with this many charges of callers, at least 1. */
  sent(charges: number): void
}

export interface BatchDelayOptions {
  /** How many charges wait. */
  readonly waiting: () => number
  /** Monotonic milliseconds. */
  readonly now: () => number
}

/** How many turns of the event loop a batch waits at most, and how many turns without a new charge end its wait. */
const USUAL = { turns: 4, quiet: 1 }
const SMALL = { turns: 20, quiet: 8 }
/** A batch with this many charges is no longer small. */
const MANY = 16
/** The longest wait of a small batch in milliseconds. Without it the batch would wait for 20 turns even if turns take long. */
const SMALL_MS = 1

/**
 * Lets a batch wait until a turn of the event loop brings no more charges. A charge then costs Redis 14 to 30 % less. A small
 * batch waits for several quiet turns, since a batch costs Redis as much as 15 to 30 charges.
 * docs/contributing/decisions/when-a-batch-goes-out.md has the figures, and says what else was tried.
 */
export function createBatchDelay({ waiting, now }: BatchDelayOptions): BatchDelay {
  let underWay = false
  /** Charges of callers in the last batch that had any. */
  let lastSize = 0

  // These belong to the batch that waits, of which there is only one at a time. Its turns are counted here and not in an async function to
  // save promises: a lone charge then allocates one promise for each wait and not one for each turn.
  let since = 0
  let turns = 0
  let quiet = 0
  let before = 0
  let over: (waitedMs: number) => void = () => {}

  function next(): Promise<number> {
    underWay = true
    since = now()
    turns = 0
    quiet = 0
    return new Promise(begin)
  }

  function begin(resolve: (waitedMs: number) => void): void {
    over = resolve
    goOn()
  }

  function goOn(): void {
    if (goesOn()) {
      before = waiting()
      setImmediate(endTurn)
      return
    }
    underWay = false
    over(now() - since)
  }

  function endTurn(): void {
    turns++
    quiet = waiting() > before ? 0 : quiet + 1
    goOn()
  }

  function goesOn(): boolean {
    const isSmall = lastSize > 1 && waiting() > 0 && waiting() < MANY
    const most = isSmall && now() - since < SMALL_MS ? SMALL : USUAL
    return turns < most.turns && quiet < most.quiet
  }

  return {
    next,
    isUnderWay: () => underWay,
    sent: (charges) => {
      lastSize = charges
    },
  }
}
