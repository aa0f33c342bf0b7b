import { Socket } from 'node:net'
import { afterEach, expect, test } from 'vitest'
import { missingAmong, missingInNode } from '../../src/node/hooks.ts'
import { missingInMetrics } from '../../src/observe/registry.ts'
import { missingInIoredis } from '../../src/store/redis/client.ts'

const prototype = Socket.prototype as unknown as Record<string, unknown>
const { _unrefTimer } = prototype

afterEach(() => {
  prototype._unrefTimer = _unrefTimer
})

test('this Node and these libraries have everything that is leaned on', () => {
  expect([...missingInNode(), ...missingInMetrics(), ...missingInIoredis()]).toEqual([])
})

test('a method that another Node has no more is named, with what is lost, and nothing else is', () => {
  prototype._unrefTimer = undefined
  expect(missingInNode()).toEqual([
    { hook: 'Socket#_unrefTimer', lost: 'a client that floods one connection holds up all others' },
  ])
})

test('a hook that cannot be looked for is missing', () => {
  const inside: { readonly parser?: { readonly execute: unknown } } = {}
  const hooks = [['parser', 'floods', (of: typeof inside) => 'execute' in (of.parser as object)]] as const
  expect(missingAmong(inside, hooks)).toEqual([{ hook: 'parser', lost: 'floods' }])
})
