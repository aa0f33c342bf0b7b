import { expect, it } from 'vitest'
import { PLAN_WORDS } from '../../../src/store/redis/batch-text.ts'
import { CHARGE_LUA, CONTROL_LUA } from '../../../src/store/redis/client.ts'
import { WORDS } from '../../../src/store/redis/script-words.ts'

const words = Object.keys(WORDS)

it('no script that is sent to Redis has a word of the form left, which Lua would take for nothing', () => {
  for (const lua of [CHARGE_LUA, CONTROL_LUA]) {
    expect(lua.match(/\b[A-Z]+(?:_[A-Z]+)*\b/g)?.filter((word) => words.includes(word))).toEqual([])
    expect(lua).not.toMatch(/\b(?:PLAN|WIDE|START|TOKENS|LENGTH|DISTANCE)_[A-Z]+\b/)
  }
})

it('a plan has a word for each of its numbers, by their places in Lua', () => {
  expect(Object.values(PLAN_WORDS)).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9])
})
