import type { Locator } from 'playwright-core'
import { afterEach, beforeEach, expect } from 'vitest'

/** What the present test has done. */
export let actions = countActions()

/** For each file: counts what each of its tests does, which is at most so much. */
export function limitActions(most: number): void {
  beforeEach(countAnew)
  afterEach(() => expect(actions.count()).toBeLessThanOrEqual(most))
}

/** Begins another job. */
export function countAnew(): void {
  actions = countActions()
}

/** Counts what an administrator does for a job: a click, a key and a field that is filled are one each. */
function countActions() {
  let count = 0
  return {
    count: () => count,
    async click(target: Locator): Promise<void> {
      count++
      await target.click()
    },
    async choose(target: Locator, value: string): Promise<void> {
      count++
      await target.selectOption(value)
    },
    async press(target: Locator, key: string): Promise<void> {
      count++
      await target.press(key)
    },
    async fill(target: Locator, text: string): Promise<void> {
      count++
      await target.fill(text)
    },
  }
}
