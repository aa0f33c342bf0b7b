import { beforeAll } from 'vitest'
import { askDecided, type DecidedStack, startDecided } from '../deciding.ts'
import { caddy } from '../proxies.ts'

/** docs/guides/caddy.md */

let stack: DecidedStack
beforeAll(async () => {
  stack = await startDecided(caddy)
})

askDecided(() => stack, { whenDown: 502 })
