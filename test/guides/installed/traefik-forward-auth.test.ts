import { afterAll, beforeAll } from 'vitest'
import { askDecided, type DecidedStack, startDecided } from '../deciding.ts'
import { blockOf, HOST } from '../page.ts'
import { startTraefik, TRAEFIK_SPELLINGS } from '../traefik.ts'

/** docs/guides/traefik-forward-auth.md */

let stack: DecidedStack
beforeAll(async () => {
  stack = await startDecided('traefik-forward-auth', blockOf('traefik-forward-auth', 'yml'), (text) =>
    startTraefik(text, (port) => ({ port, origin: `http://${HOST}` })),
  )
})
afterAll(() => stack.stop())

askDecided(() => stack, { whenDown: 500, spellings: TRAEFIK_SPELLINGS, showsQuota: false })
