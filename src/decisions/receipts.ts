import { createHmac, hash, randomBytes, timingSafeEqual } from 'node:crypto'
import type { Payer } from '../quota/policy.ts'

/** One meter of a charge: the tokens taken, and for each run of its windows `[seconds, startedAt, used, …]` after the charge. */
export interface ChargedMeter {
  readonly category: string
  readonly cost: number
  readonly organisation: string | null
  readonly personal: readonly number[]
  readonly theirs: readonly number[]
  readonly global: readonly number[]
  /** The tokens that grants paid: `[scope, id, seconds, startedAt, used]` of each. Default none. */
  readonly grants?: readonly PaidWords[]
}

export type PaidWords = readonly ['personal' | 'organisation', string, number, number, number]

/** All facts that any gateway needs to settle a charge later. */
export interface ChargeReceipt {
  /** The store's time of the charge, in milliseconds since the epoch. */
  readonly at: number
  readonly payer: Payer
  readonly isVerified: boolean
  readonly route: string
  /** The id of the request that was charged, as in its log line. */
  readonly requestId: string
  /** The key under which the store keeps the charge; `null` if it is kept nowhere. */
  readonly key: string | null
  readonly meters: readonly ChargedMeter[]
}

/** How long an id is valid, in milliseconds after the charge. */
export const GOOD_MS = 3_600_000

/**
 * Ids of charges. An id is the receipt itself, so that nothing is kept for a decision that is never settled, and every gateway with the
 * token knows the id. Whoever has an id can read its receipt, but only the token can make one.
 */
export function createReceipts(token: string) {
  const key = createHmac('sha256', 'tollgate decisions').update(token).digest()
  const seal = (text: string) => createHmac('sha256', key).update(text).digest('base64url')

  return {
    idOf(receipt: ChargeReceipt): string {
      const { at, payer, isVerified, route, requestId, meters } = receipt
      const each = meters.map((m) => [m.category, m.cost, m.organisation, m.personal, m.theirs, m.global, m.grants])
      const facts = [
        at,
        payer.user,
        payer.organisation,
        payer.plan,
        isVerified ? 1 : 0,
        route,
        requestId,
        receipt.key,
        each,
        payer.periodDay ?? null,
      ]
      // Two charges may be alike in all other members.
      const text = Buffer.from(JSON.stringify([randomBytes(9).toString('base64url'), ...facts])).toString('base64url')
      return `${text}.${seal(text)}`
    },

    /** @param now milliseconds since the epoch @returns `null` for a text that is no id, and for an id that has expired */
    read(id: string, now = Date.now()): ChargeReceipt | null {
      const [text = '', given = '', ...more] = id.split('.')
      const [bytes, expected] = [Buffer.from(given), Buffer.from(seal(text))]
      // The length is counted in bytes, because a letter beyond ASCII has several.
      if (more.length > 0 || bytes.length !== expected.length || !timingSafeEqual(bytes, expected)) return null
      const [, at, user, organisation, plan, isVerified, route, requestId, kept, each, periodDay] = JSON.parse(
        Buffer.from(text, 'base64url').toString(),
      )
      if (now - at > GOOD_MS) return null
      const meters = each.map(([category, cost, of, personal, theirs, global, grants]: never[]) => {
        return { category, cost, organisation: of, personal, theirs, global, grants: grants ?? undefined }
      })
      const payer = { user, organisation, plan, ...(typeof periodDay === 'number' && { periodDay }) }
      return { at, payer, isVerified: isVerified === 1, route, requestId, key: kept, meters }
    },
  }
}

export type Receipts = ReturnType<typeof createReceipts>

/** The key under which a store keeps the settlement of one meter of an id. */
export function settledKey(id: string, meter: number): string {
  return hash('sha256', `${id} ${meter}`, 'base64url').slice(0, 22)
}
