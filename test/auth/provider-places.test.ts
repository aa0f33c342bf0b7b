import { expect, it } from 'vitest'
import { createProviderPlaces, type ProviderPlaces } from '../../src/auth/provider-places.ts'

/** Asks for places, and notes who has got one, in that order. */
function asking(places: ProviderPlaces) {
  const [given, refused]: [string[], string[]] = [[], []]
  const ask = (party: string, isKnown: boolean, many = 1): void => {
    for (let i = 0; i < many; i++) {
      const taken = places.take({ party, isKnown })
      if (taken === true) given.push(party)
      else void Promise.resolve(taken).then((isGiven) => (isGiven ? given : refused).push(party))
    }
  }
  return { ask, given, refused, count: (party: string) => given.filter((one) => one === party).length }
}

it('credentials that were good lately find places, however many others are asked about', () => {
  const places = createProviderPlaces()
  const { ask, count } = asking(places)
  ask('stranger', false, 200)
  expect(count('stranger')).toBe(32)
  ask('user', true, 200)
  expect(count('user')).toBe(32)
})

it('others find places, however many credentials are asked about that were good lately', () => {
  const places = createProviderPlaces()
  const { ask, count } = asking(places)
  ask('user', true, 200)
  expect(count('user')).toBe(48)
  ask('stranger', false, 200)
  expect(count('stranger')).toBe(16)
})

it('a place that is free goes to a credential that was good lately, and else to the next address in turn', async () => {
  const places = createProviderPlaces()
  const { ask, given, count } = asking(places)
  ask('a', false, 40)
  ask('user', true, 33)
  ask('b', false)
  ask('a', false)
  ask('c', false)
  expect([count('a'), count('user')]).toEqual([32, 32])
  for (let i = 0; i < 5; i++) {
    places.give({ party: 'a', isKnown: false })
    await Promise.resolve()
  }
  expect(given.slice(64)).toEqual(['user', 'a', 'b', 'c', 'a'])
})

it('the last of the address that has most of 256 that wait goes for one of another', async () => {
  const places = createProviderPlaces()
  const { ask, given, refused } = asking(places)
  ask('a', false, 32 + 256)
  ask('a', false)
  ask('b', false)
  await Promise.resolve()
  expect(refused).toEqual(['a', 'a'])
  for (let i = 0; i < 2; i++) places.give({ party: 'a', isKnown: false })
  await Promise.resolve()
  expect(given.slice(32)).toEqual(['a', 'b'])
})

it('whoever has waited for two seconds is not asked about', async () => {
  const places = createProviderPlaces()
  const { ask, given, refused } = asking(places)
  ask('a', false, 34)
  await expect.poll(() => refused, { timeout: 10_000 }).toEqual(['a', 'a'])
  places.give({ party: 'a', isKnown: false })
  await Promise.resolve()
  expect(given).toHaveLength(32)
})
