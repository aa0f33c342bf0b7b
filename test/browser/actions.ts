import type { Locator } from 'playwright-core'

/** Counts what an administrator does for a job: a click, a key and a field that is filled are one each. */
export function countActions() {
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
