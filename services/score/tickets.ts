import type { Database } from '../common/database.ts'
import type { FreeTicket } from './schemas/fixture.ts'

/** How long a ticket is valid after the last purchase of its kind. */
const TICKET_MS = 90 * 24 * 60 * 60 * 1000
/** How long the response to an Idempotency-Key is kept. */
const KEY_MS = 24 * 60 * 60 * 1000

/** A purchased ticket as clients see it. */
export interface Ticket {
  readonly chargeId: number
  readonly stock: number
  readonly purchaseDate: string
  readonly validDate: string
  readonly extNum1: 0
}

/** The request and the response, as JSON, that are kept for an Idempotency-Key. */
export interface Purchase {
  readonly request: string
  readonly response: string
}

/** The tickets of players. Every method runs inside a transaction of the caller. Times are milliseconds since the epoch. */
export interface Tickets {
  /** How many valid tickets of a kind the player has. */
  stock(player: number, chargeId: number, now: number): number
  /** Adds one ticket of a kind, and makes all of that kind valid for 90 days from now. */
  add(player: number, chargeId: number, now: number): Ticket
  /** Valid tickets, by chargeId. */
  list(player: number, now: number): Ticket[]
  listFree(player: number): FreeTicket[]
  setFree(player: number, ticket: FreeTicket): void
  /** Removes all purchased tickets and returns how many valid ones there were, of how many kinds. */
  clear(player: number, now: number): { clearedKinds: number; clearedStock: number }
  /** The purchase that was made with a key in the last 24 hours. */
  recall(player: number, key: string, now: number): Purchase | undefined
  /** Keeps a purchase, and forgets the purchases of all players that are 24 hours old. */
  remember(player: number, key: string, purchase: Purchase, now: number): void
}

interface Row {
  readonly chargeId: number
  readonly stock: number
  readonly purchasedAt: number
  readonly validUntil: number
}

export function createTickets(db: Database): Tickets {
  const GOOD = 'stock > 0 AND valid_until > ?'
  const stockOf = db.prepare(`SELECT stock FROM tickets WHERE player = ? AND charge_id = ? AND ${GOOD}`)
  const put = db.prepare('INSERT OR REPLACE INTO tickets VALUES (?, ?, ?, ?, ?)')
  const all = db.prepare(
    `SELECT charge_id AS chargeId, stock, purchased_at AS purchasedAt, valid_until AS validUntil
     FROM tickets WHERE player = ? AND ${GOOD} ORDER BY charge_id`,
  )
  const free = db.prepare(
    'SELECT charge_id AS chargeId, stock FROM free_tickets WHERE player = ? AND stock > 0 ORDER BY charge_id',
  )
  const putFree = db.prepare('INSERT OR REPLACE INTO free_tickets VALUES (?, ?, ?)')
  const sum = db.prepare(
    `SELECT count(*) AS kinds, coalesce(sum(stock), 0) AS stock FROM tickets WHERE player = ? AND ${GOOD}`,
  )
  const empty = db.prepare('UPDATE tickets SET stock = 0 WHERE player = ?')
  const purchase = db.prepare(
    'SELECT request, answer AS response FROM purchases WHERE player = ? AND key = ? AND made_at > ?',
  )
  const forget = db.prepare('DELETE FROM purchases WHERE made_at <= ?')
  const keep = db.prepare('INSERT INTO purchases VALUES (?, ?, ?, ?, ?)')

  const stock = (player: number, chargeId: number, now: number) =>
    Number(stockOf.get(player, chargeId, now)?.stock ?? 0)

  return {
    stock,
    add(player, chargeId, now) {
      const row = { chargeId, stock: stock(player, chargeId, now) + 1, purchasedAt: now, validUntil: now + TICKET_MS }
      put.run(player, chargeId, row.stock, row.purchasedAt, row.validUntil)
      return ticketOf(row)
    },
    list: (player, now) => (all.all(player, now) as unknown as Row[]).map(ticketOf),
    listFree: (player) => free.all(player) as unknown as FreeTicket[],
    setFree: (player, ticket) => void putFree.run(player, ticket.chargeId, ticket.stock),
    clear(player, now) {
      const found = sum.get(player, now)
      empty.run(player)
      return { clearedKinds: Number(found?.kinds), clearedStock: Number(found?.stock) }
    },
    recall: (player, key, now) => purchase.get(player, key, now - KEY_MS) as unknown as Purchase | undefined,
    remember(player, key, { request, response }, now) {
      forget.run(now - KEY_MS)
      keep.run(player, key, request, response, now)
    },
  }
}

function ticketOf({ chargeId, stock, purchasedAt, validUntil }: Row): Ticket {
  const [purchaseDate, validDate] = [new Date(purchasedAt).toISOString(), new Date(validUntil).toISOString()]
  return { chargeId, stock, purchaseDate, validDate, extNum1: 0 }
}
