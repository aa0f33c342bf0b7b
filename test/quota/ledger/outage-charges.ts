import type { Charge, Limits } from '../../../src/quota/charge.ts'
import { chargeOf } from '../charge-of.ts'

/** Charges of windows of an hour and a day, for tests of an outage. */

export const HOUR = { name: '1h', seconds: 3600 }
export const DAY = { name: '1d', seconds: 86_400 }
export const limits = (
  personal: readonly [number, number],
  global: readonly [number, number] | null = null,
): Limits => {
  const both = ([hour, day]: readonly [number, number]): Limits['personal'] => [
    { window: HOUR, limit: hour },
    { window: DAY, limit: day },
  ]
  return { personal: both(personal), organisation: null, global: global === null ? null : both(global) }
}
export const LIMITS = limits([100, 300], [1000, 3000])
export const charge = (cost: number, user = 'alice', of = LIMITS, category = 'read'): Charge =>
  chargeOf({ user, category, cost, limits: of })
/** Of a user of an organisation, whose windows have the limits of everybody. */
export const chargeIn = (organisation: string, cost: number, user = 'alice'): Charge => ({
  ...charge(cost, user, { ...LIMITS, organisation: LIMITS.global }),
  organisation,
})
export const AT = Date.UTC(2026, 7, 6)
export const MINUTE = 60_000
