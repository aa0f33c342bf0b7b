import { expect, it } from 'vitest'
import { UNCHARGED } from '../../src/failures/voices.ts'
import type { Exchange } from '../../src/gateway/context.ts'
import { voiceOf } from '../../src/gateway/failure-voice.ts'

const of = (health: string | null, { cost = 1, shadowed = false, user = 'alice' as string | null } = {}) =>
  voiceOf({
    route: health && { health },
    caller: user && { user },
    cost,
    settlement: shadowed ? { kind: 'shadowed' } : null,
  } as unknown as Exchange)

it.each([
  ['its user, where it is charged', of('charged'), 'alice'],
  ['its user, whatever the rule counts besides', of('always'), 'alice'],
  ['nobody, where it costs nothing', of('charged', { cost: 0 }), null],
  ['nobody, where it is let through uncharged', of('charged', { shadowed: true }), null],
  ['the one of all that costs nothing, where the rule counts that', of('always', { cost: 0 }), UNCHARGED],
  ['the same on a public route', of('always', { cost: 0, user: null }), UNCHARGED],
  ['the same in shadow', of('always', { shadowed: true }), UNCHARGED],
  ['nobody, where the rule counts nothing', of('never'), null],
  ['nobody, where no rule matches', of(null), null],
])('the voice of a request is %s', (_whose, voice, expected) => {
  expect(voice).toBe(expected)
})
