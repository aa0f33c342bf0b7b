import { beforeAll } from 'vitest'
import { askDecided, type DecidedStack, startDecided } from '../deciding.ts'
import { traefik } from '../proxies.ts'
import { TRAEFIK_SPELLINGS } from '../traefik.ts'

/** docs/guides/traefik-forward-auth.md */

let stack: DecidedStack
beforeAll(async () => {
  stack = await startDecided(traefik)
})

askDecided(() => stack, { whenDown: 500, spellings: TRAEFIK_SPELLINGS, showsQuota: false })
