import { afterAll, beforeAll } from 'vitest'
import { askDecided, type DecidedStack, startDecided } from '../deciding.ts'
import { envoy } from '../proxies.ts'

/** docs/guides/envoy.md */

let stack: DecidedStack
beforeAll(async () => {
  stack = await startDecided(envoy)
})
afterAll(() => stack.stop())

askDecided(() => stack, { whenDown: 403 })
