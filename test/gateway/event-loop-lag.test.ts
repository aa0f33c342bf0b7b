import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { createLagMeter, type LagMeter } from '../../src/gateway/event-loop-lag.ts'

let meter: LagMeter
beforeEach(() => {
  meter = createLagMeter()
})
afterEach(() => meter.stop())

/** Holds the event loop up for so long, again and again, until the condition is met. */
async function holdUp(ms: number, condition: () => boolean): Promise<void> {
  for (let turns = 0; !condition(); turns++) {
    if (turns > 1000) throw new Error('it never came to pass')
    const until = performance.now() + ms
    while (performance.now() < until);
    await sleep(1)
  }
}

it('a loop that is held up again and again lags, until it is let go', async () => {
  await holdUp(200, () => meter.lasting() > 50)
  await holdUp(0, () => meter.lasting() < 50)
})

it('one long pause is over when it is seen, and is no lag', async () => {
  const until = performance.now() + 1500
  while (performance.now() < until);
  let most = 0
  for (let looks = 0; looks < 20; looks++) {
    await sleep(20)
    most = Math.max(most, meter.lasting())
  }
  expect(most).toBeLessThan(1000)
})
