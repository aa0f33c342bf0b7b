import fc from 'fast-check'
import { expect, it } from 'vitest'
import { createFailedChecks, type FailedChecks } from '../../src/gateway/failed-checks.ts'

let time = 0
const open = () => createFailedChecks(() => time)

/** A check that begins and ends at once. @returns whether it was allowed */
function check(failed: FailedChecks, address: string | null, cost: number, spent = cost): boolean {
  const reservation = failed.reservation(address)
  const isAllowed = reservation.take(cost)
  reservation.end(isAllowed ? spent : 0)
  return isAllowed
}

const howMany = (failed: FailedChecks, address: string | null, cost: number, most = 10_000): number => {
  let count = 0
  while (count < most && check(failed, address, cost)) count++
  return count
}

it('an address may waste 200 ms of checks at once, and 50 ms a second from then on', () => {
  const failed = open()
  expect(howMany(failed, 'a', 10)).toBe(200)
  time += 2
  expect(howMany(failed, 'a', 1)).toBe(1)
  let more = 0
  for (const until = time + 1000; time < until; ) {
    time += 0.5
    if (check(failed, 'a', 1)) more++
  }
  expect(more).toBe(500)
  time += 4000
  expect(howMany(failed, 'a', 50)).toBe(40)
})

it('checks that are under way count as if they were for nothing, until they end', () => {
  const failed = open()
  const under = Array.from({ length: 40 }, () => failed.reservation('a'))
  expect(under.map((one) => one.take(50))).toEqual(Array(40).fill(true))
  time += 60_000
  expect(check(failed, 'a', 1)).toBe(false)
  for (const one of under.slice(0, 30)) one.end(0)
  expect(howMany(failed, 'a', 50)).toBe(30)
  for (const one of under.slice(30)) one.end(50)
  expect(check(failed, 'a', 1)).toBe(false)
})

it('several checks of one credential are reserved one by one, and given back together', () => {
  const failed = open()
  const one = failed.reservation('a')
  expect([one.take(1500), one.take(500), one.take(1)]).toEqual([true, true, false])
  one.end(1999)
  expect(howMany(failed, 'a', 1)).toBe(1)
})

it('what one address does is no matter of another, nor of clients whose address is not known', () => {
  const failed = open()
  expect([check(failed, 'a', 2000), check(failed, null, 2000)]).toEqual([true, true])
  expect([check(failed, 'a', 1), check(failed, 'b', 2000), check(failed, null, 2000)]).toEqual([false, true, true])
})

it('an IPv6 /48 wastes no more than one and a half times as much as one of its addresses', () => {
  const failed = open()
  const address = (i: number) => `2001:db8:1:${i.toString(16)}::/64`
  expect([howMany(failed, address(1), 1), howMany(failed, address(2), 1), howMany(failed, address(3), 1)]).toEqual([
    2000, 1000, 0,
  ])
  expect(check(failed, '2001:db8:2:1::/64', 2000)).toBe(true)
  time += 1000
  expect([howMany(failed, address(3), 1), howMany(failed, address(1), 1)]).toEqual([750, 0])
})

it('good credentials cost nothing', () => {
  const failed = open()
  for (let i = 0; i < 1000; i++) expect(check(failed, 'a', 50, 0)).toBe(true)
  expect(check(failed, 'a', 2000)).toBe(true)
})

it('10,000 addresses are remembered, and the one that came longest ago is forgotten for another', () => {
  const failed = open()
  for (let i = 0; i < 10_000; i++) check(failed, `${i}`, 1999)
  check(failed, '0', 1)
  check(failed, 'good', 2000, 0)
  check(failed, 'new', 2000)
  expect(check(failed, '0', 2)).toBe(false)
  expect(check(failed, '3', 2)).toBe(false)
  expect(check(failed, '1', 2)).toBe(true)
})

/** Counted in steps of 2 ms, in each of which 1 is added. */
class Model {
  left = 2000
  reserved = 0
  pass(steps: number): void {
    for (let i = 0; i < steps; i++) if (this.left + this.reserved < 2000) this.left++
  }
}

const STEP = fc.oneof(
  fc.record({ do: fc.constant('pass' as const), steps: fc.oneof(fc.nat(20), fc.nat(3000)) }),
  fc.record({ do: fc.constant('take' as const), cost: fc.constantFrom(1, 5, 10, 50, 600), isMore: fc.boolean() }),
  fc.record({ do: fc.constant('end' as const), which: fc.nat(50), isGood: fc.boolean() }),
)

it('whatever comes and however long it takes, as much is begun as the rate allows, and no more', () => {
  fc.assert(
    fc.property(fc.array(STEP, { maxLength: 200 }), (steps) => {
      time = 0
      const [failed, model] = [open(), new Model()]
      const under: { reservation: ReturnType<FailedChecks['reservation']>; begun: { at: number; cost: number }[] }[] =
        []
      const wasted: { at: number; cost: number }[] = []
      for (const step of steps) {
        if (step.do === 'pass') {
          time += 2 * step.steps
          model.pass(step.steps)
        } else if (step.do === 'take') {
          const last = under.at(-1)
          const one = step.isMore && last ? last : { reservation: failed.reservation('a'), begun: [] }
          const isAllowed = model.left >= step.cost
          expect(one.reservation.take(step.cost)).toBe(isAllowed)
          if (one !== last) under.push(one)
          if (!isAllowed) continue
          model.left -= step.cost
          model.reserved += step.cost
          one.begun.push({ at: time, cost: step.cost })
        } else {
          const [one] = under.splice(step.which % Math.max(1, under.length), 1)
          if (one === undefined) continue
          const cost = one.begun.reduce((sum, each) => sum + each.cost, 0)
          one.reservation.end(step.isGood ? 0 : cost)
          model.reserved -= cost
          if (step.isGood) model.left += cost
          else wasted.push(...one.begun)
        }
      }
      // Whatever is still under way may be for nothing, too.
      wasted.push(...under.flatMap(({ begun }) => begun))
      for (const { at: from } of wasted) {
        for (const { at: to } of wasted) {
          const sum = wasted.reduce((all, { at, cost }) => (at >= from && at <= to ? all + cost : all), 0)
          if (to >= from) expect(sum).toBeLessThanOrEqual(2000 + (to - from) / 2)
        }
      }
    }),
    { numRuns: 200 },
  )
})
