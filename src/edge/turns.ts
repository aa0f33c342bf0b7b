/** Requests of one address that begin in one turn of the event loop: of refusals that are cheap, 3 ms. */
const MAX_REQUESTS = 64
/** Bytes of their heads, after which no other one of the address begins in the turn. */
const MAX_BYTES = 64 * 1024

/**
 * What one address has begun in this turn, and who waits for a later one.
 *
 * | State | A request comes | The turn ends |
 * |---|---|---|
 * | room: fewer requests and bytes than one may have | begins at once | forgotten |
 * | full | waits | room, and those who wait begin in their order until it is full |
 * | others wait | waits behind them | the same |
 */
class AddressTurn {
  requests = 0
  bytes = 0
  readonly waiting: { readonly bytes: number; readonly begin: () => void }[] = []

  hasRoom(): boolean {
    return this.requests < MAX_REQUESTS && this.bytes < MAX_BYTES
  }

  add(bytes: number): void {
    this.requests++
    this.bytes += bytes
  }
}

/** Of the addresses that have begun something in this turn, or wait. */
const addresses = new Map<string, AddressTurn>()

/**
 * Takes a turn of the event loop in which the address may begin one more request.
 *
 * libuv accepts one connection a turn (Node 26.10), and nobody is served while a turn lasts: a thousand connections of one address whose
 * requests were all served in the turn in which they are read would make everybody else wait for all of them.
 *
 * @param address whose turn it is; `null` for a peer that stands for many clients, which has no bound
 * @param bytes of the request's head
 * @returns `null` where the request may begin at once, as nearly all may; otherwise when it may
 */
export function takeTurn(address: string | null, bytes: number): Promise<void> | null {
  if (address === null) return null
  const turn = turnOfAddress(address)
  if (turn.waiting.length > 0 || !turn.hasRoom()) return waitIn(turn, bytes)
  turn.add(bytes)
  return null
}

/** The same for a request that has waited already: it begins in a later turn, so that one connection never fills a turn. */
export function takeLaterTurn(address: string, bytes: number): Promise<void> {
  return waitIn(turnOfAddress(address), bytes)
}

function turnOfAddress(address: string): AddressTurn {
  const known = addresses.get(address)
  if (known !== undefined) return known
  const turn = new AddressTurn()
  if (addresses.size === 0) setImmediate(endTurn)
  addresses.set(address, turn)
  return turn
}

function waitIn({ waiting }: AddressTurn, bytes: number): Promise<void> {
  return new Promise((begin) => {
    waiting.push({ bytes, begin })
  })
}

function endTurn(): void {
  for (const [address, turn] of addresses) {
    if (turn.waiting.length === 0) addresses.delete(address)
    else beginWaiting(turn)
  }
  if (addresses.size > 0) setImmediate(endTurn)
}

function beginWaiting(turn: AddressTurn): void {
  turn.requests = 0
  turn.bytes = 0
  let begun = 0
  for (const { bytes, begin } of turn.waiting) {
    if (!turn.hasRoom()) break
    turn.add(bytes)
    begun++
    begin()
  }
  turn.waiting.splice(0, begun)
}
