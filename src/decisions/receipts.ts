import { createHmac, hash, randomBytes, timingSafeEqual } from 'node:crypto'
import type { Payer } from '../quota/policy.ts'

/** One meter of a charge: how much was taken, from which runs of which windows, and what each had then, as `[seconds, startedAt, used, …]`. */
export interface ChargedMeter {
  readonly category: string
  readonly cost: number
  readonly organisation: string | null
  readonly personal: readonly number[]
  readonly theirs: readonly number[]
  readonly global: readonly number[]
  /** What grants have paid: `[scope, id, seconds, startedAt, used]` of each. Default none has. */
  readonly grants?: readonly PaidWords[]
}

export type PaidWords = readonly ['personal' | 'organisation', string, number, number, number]

/** All that any gateway needs to settle a charge later. */
export interface ChargeReceipt {
  /** The store's time of the charge, in milliseconds since the epoch. */
  readonly at: number
  readonly payer: Payer
  readonly isVerified: boolean
  readonly route: string
  /** The request that was charged, as its line in the log has it. */
  readonly requestId: string
  /** The key under which the store keeps the charge; `null` for one that is kept nowhere. */
  readonly key: string | null
  readonly meters: readonly ChargedMeter[]
}

/** How long an id is good, in milliseconds from the charge on. */
export const GOOD_MS = 3_600_000

/**
 * Ids of charges, which are the receipts themselves, so that nothing is kept of a decision that nobody settles and every gateway with the
 * token knows each of them. Everybody who has an id can read its receipt, but only the token can make one.
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

    /** @param now milliseconds since the epoch @returns `null` for what is no id, and for one that is good no more */
    read(id: string, now = Date.now()): ChargeReceipt | null {
      const [text = '', given = '', ...more] = id.split('.')
      const [bytes, expected] = [Buffer.from(given), Buffer.from(seal(text))]
      // The length is counted in bytes, since a letter outside of ASCII has several.
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

/** The key under which a store keeps that one meter of an id was settled. */
export function settledKey(id: string, meter: number): string {
  return hash('sha256', `${id} ${meter}`, 'base64url').slice(0, 22)
}
