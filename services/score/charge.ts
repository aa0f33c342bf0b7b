import { type Handler, reading, success, writing } from './backend.ts'
import { isRefusal, type Refusal, refuse } from './errors.ts'
import { chargeBody, emptyBody, readBy } from './schemas/requests.ts'
import type { Purchase, Tickets } from './tickets.ts'

/** An Idempotency-Key has 1 to 255 characters of visible ASCII. */
const KEY = /^[\x21-\x7e]{1,255}$/

interface Order {
  readonly player: number
  readonly chargeId: number
  readonly maxStock: number
  readonly now: number
}

/**
 * POST /v1/charge: buys one ticket. With an Idempotency-Key the same request is carried out once in 24 hours, and gets
 * the same response. A refusal is not kept, because nothing was sold.
 */
export const chargeTicket: Handler = async ({ store, clock, maxStock }, { user, body, key }) => {
  const wanted = readBy(chargeBody, body)
  if (isRefusal(wanted)) return wanted
  if (key !== undefined && !KEY.test(key)) {
    return refuse('invalid_request', 'Idempotency-Key must be 1 to 255 visible ASCII characters')
  }
  const player = await store.players.idOf(user)
  return store.write(() => {
    const limit = Math.min(maxStock, wanted.maxStock ?? maxStock)
    const order: Order = { player, chargeId: wanted.chargeId, maxStock: limit, now: clock() }
    return key === undefined ? sell(store.tickets, order) : sellOnce(store.tickets, order, key, JSON.stringify(wanted))
  })
}

function sell(tickets: Tickets, { player, chargeId, maxStock, now }: Order): object | Refusal {
  if (tickets.stock(player, chargeId, now) >= maxStock) {
    return refuse('ticket_limit', `no more than ${maxStock} tickets of chargeId ${chargeId} can be owned`)
  }
  return success({ userCharge: tickets.add(player, chargeId, now) })
}

/** `request` is the parsed request and not its bytes: clients send a fresh QR code with each retry. */
function sellOnce(tickets: Tickets, order: Order, key: string, request: string): object | Refusal {
  const { player, now } = order
  const earlier = tickets.recall(player, key, now)
  if (earlier !== undefined) return repeat(earlier, request)
  const response = sell(tickets, order)
  if (!isRefusal(response)) tickets.remember(player, key, { request, response: JSON.stringify(response) }, now)
  return response
}

function repeat({ request, response }: Purchase, asked: string): object | Refusal {
  if (request === asked) return JSON.parse(response)
  return refuse('idempotency_conflict', 'this Idempotency-Key was used for another request')
}

/** GET /v1/charge/queue: purchases are carried out at once, so the queue is always empty. */
export const chargeQueue: Handler = async () => {
  return { code: 0, returnCode: 1, tasks: [], workers: 0, msg: 'purchases are carried out at once' }
}

/** POST /v1/user/charge: lists the user's valid tickets. */
export const listTickets = reading(emptyBody, ({ store, clock }, userId) => {
  const userChargeList = store.tickets.list(userId, clock())
  const userFreeChargeList = store.tickets.listFree(userId)
  return { userId, length: userChargeList.length, userChargeList, userFreeChargeList }
})

/** POST /v1/ticket/clear: removes all purchased tickets. */
export const clearTickets = writing(emptyBody, ({ store, clock }, userId) => store.tickets.clear(userId, clock()))
