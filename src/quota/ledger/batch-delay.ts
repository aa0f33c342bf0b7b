/** Decides how long a batch waits for more charges before it goes out. */
export interface BatchDelay {
  /** Resolves when the next batch is to go out. @returns for how many milliseconds it waited */
  next(): Promise<number>
  /** Whether a batch waits: the store was not asked yet. */
  isUnderWay(): boolean
  /** A batch went out with this many charges of callers, at least 1. */
  sent(charges: number): void
}

export interface BatchDelayOptions {
  /** How many charges wait. */
  readonly waiting: () => number
  /** Monotonic milliseconds. */
  readonly now: () => number
}

/** How long a batch waits, in turns of the event loop: at most, and in a row without a new charge. */
const USUAL = { turns: 4, quiet: 1 }
const SMALL = { turns: 20, quiet: 8 }
/** Charges of a batch that is small no more. */
const MANY = 16
/** Milliseconds for which a batch may wait as a small one: if turns take long, it would wait for all of them. */
const SMALL_MS = 1

/**
 * Lets a batch wait until a turn of the event loop brings no more charges: a charge then costs Redis 14 to 30 % less. A small one
 * waits for some quiet turns, since a batch costs as much as 15 to 30 charges in it. Figures, and what was tried instead, are in
 * docs/contributing/decisions/when-a-batch-goes-out.md.
 */
export function createBatchDelay({ waiting, now }: BatchDelayOptions): BatchDelay {
  let underWay = false
  /** Charges of callers in the last batch that had any. */
  let lastSize = 0

  // Of the batch that waits, one at a time. Its turns are counted here and not in a function that waits: a lone charge, whose two waits
  // are all its own, then allocates a promise for each wait and not one for each turn.
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
