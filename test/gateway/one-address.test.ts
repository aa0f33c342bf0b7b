import { beforeEach, expect, it } from 'vitest'
import { createOneAddress, type OneAddress } from '../../src/gateway/one-address.ts'

let time = 0
let told: string[] = []
let watch: OneAddress
beforeEach(() => {
  time = 1000
  told = []
  watch = createOneAddress(
    (address) => told.push(address),
    () => time,
  )
})

/** So many requests of a period, the given part of them by one address. */
function period(requests: number, part: number, user: (i: number) => string | null, isForwarded = false): void {
  for (let i = 0; i < requests; i++) {
    const isOfOne = i % 10 < part * 10
    watch.note(isOfOne ? '10.0.0.5' : `192.0.2.${i % 250}`, user(i), isOfOne && isForwarded)
  }
  time += 20_000
  watch.note('198.51.100.1', null, false)
}

const many = (i: number): string => `user ${i}`

it('an address that brings nearly all requests of many users looks like a load balancer, and is told of once an hour', () => {
  period(1000, 0.9, many)
  expect([watch.suspect(), told]).toEqual(['10.0.0.5', ['10.0.0.5']])
  for (let hour = 0; hour < 3 * 60 * 2; hour++) period(1000, 1, many)
  expect(told).toHaveLength(3)
  for (let i = 0; i < 1000; i++) watch.note('10.0.0.6', many(i), false)
  time += 20_000
  watch.note('10.0.0.6', null, false)
  expect(told.slice(3)).toEqual(['10.0.0.6'])
})

it('so does one whose requests say that they were passed on, whoever sends them', () => {
  period(1000, 1, () => null, true)
  expect(watch.suspect()).toBe('10.0.0.5')
})

/** Some of three clients, every third of a second, as long as it takes. */
function atThreeASecond(seconds: number): void {
  for (let i = 0; i < 3 * seconds; i++) {
    watch.note('10.0.0.5', many(i % 3), true)
    time += 1000 / 3
  }
}

it('so does one at three requests a second within a minute, and for as long as that goes on', () => {
  atThreeASecond(60)
  expect([watch.suspect(), told]).toEqual(['10.0.0.5', ['10.0.0.5']])
  for (let minute = 0; minute < 5; minute++) {
    atThreeASecond(60)
    expect(watch.suspect()).toBe('10.0.0.5')
  }
  time += 300_000
  expect(watch.suspect()).toBe(null)
})

it.each([
  ['brings only eight of ten', () => period(1000, 0.8, many)],
  ['brings few requests', () => period(50, 1, many)],
  ['stands for one user, and passes nothing on', () => period(1000, 1, () => 'alice')],
  [
    'does so no longer',
    () => {
      period(1000, 1, many)
      period(1000, 0.1, many)
    },
  ],
  [
    'did so before everybody fell silent',
    () => {
      period(1000, 1, many)
      time += 60_000
    },
  ],
])('an address that %s does not', (_what, happen) => {
  happen()
  expect(watch.suspect()).toBe(null)
})
