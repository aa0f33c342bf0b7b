import { setTimeout as sleep } from 'node:timers/promises'
import { beforeEach, expect, it } from 'vitest'
import type { Observation } from '../../../src/observe/observation.ts'
import { Circuit } from '../../../src/quota/ledger/circuit.ts'
import { StoreError, type StoreFailure } from '../../../src/quota/quota-store.ts'

const DEADLINE_MS = 10

let clock: number
let askedAt: number | null
let failure: StoreError | null
let misses: number
let out: StoreError[]
let seen: Observation[]
let roundTrip: number
let circuit: Circuit
beforeEach(() => {
  clock = 1000
  askedAt = 1000
  failure = null
  misses = 0
  roundTrip = 0
  out = []
  seen = []
  circuit = new Circuit({
    deadlineMs: DEADLINE_MS,
    askedAt: () => askedAt,
    sender: {
      get lastFailure() {
        return failure
      },
      get roundTrip() {
        return roundTrip
      },
      miss: () => void misses++,
    },
    onOut: (error) => out.push(error),
    observe: (observation) => seen.push(observation),
    now: () => clock,
  })
})
const failed = (reason: StoreFailure): StoreError => new StoreError('it failed', reason, 'no')
/** Whether a promise is settled already. */
async function isOver(promise: Promise<void>): Promise<boolean> {
  return await Promise.race([promise.then(() => true), sleep(0).then(() => false)])
}

it('a closed circuit asks nothing of its own accord and names no failure', () => {
  failure = failed('connection')
  expect([circuit.isOut(), circuit.isAsking(), circuit.error(), circuit.reason()]).toEqual([false, false, null, null])
})

it('a closed circuit opens once the store was silent: with the reason of its last failure, or for want of any response', () => {
  failure = failed('readonly')
  circuit.open()
  expect([circuit.isOut(), circuit.isAsking(), circuit.reason()]).toEqual([true, true, 'readonly'])
  expect(seen).toEqual([{ type: 'store_out', reason: 'readonly' }])
  expect([misses, out]).toMatchObject([1, [{ reason: 'readonly', applied: 'unknown' }]])
  circuit.settled()
  failure = null
  circuit.open()
  expect(circuit.reason()).toBe('timeout')
})

it('a closed circuit is out before it says so, so that whoever hears of it decides without the store', () => {
  const heard: boolean[] = []
  circuit = new Circuit({
    deadlineMs: DEADLINE_MS,
    askedAt: () => askedAt,
    sender: { lastFailure: null, roundTrip: 0, miss: () => {} },
    onOut: () => heard.push(circuit.isOut()),
    observe: () => heard.push(circuit.isOut()),
    now: () => clock,
  })
  circuit.open()
  expect(heard).toEqual([true, true])
})

it('a question ends with the first settled batch, for all that asked', async () => {
  const questions = [circuit.ask(), circuit.ask()]
  expect([circuit.isAsking(), circuit.isOut()]).toEqual([true, false])
  expect(await isOver(Promise.race(questions))).toBe(false)
  circuit.settled()
  await Promise.all(questions)
  expect(circuit.isAsking()).toBe(false)
  clock += DEADLINE_MS
  await sleep(5 * DEADLINE_MS)
  expect(out).toEqual([])
})

it('a question opens the circuit when the store was silent for the deadline since it was asked', async () => {
  const question = circuit.ask()
  clock += DEADLINE_MS
  await question
  expect([circuit.isOut(), out.length]).toEqual([true, 1])
})

it('a question gives the store the whole deadline if this process was held up before it asked', async () => {
  askedAt = null
  const question = circuit.ask()
  clock += 10 * DEADLINE_MS
  await sleep(5 * DEADLINE_MS)
  expect([await isOver(question), circuit.isOut()]).toEqual([false, false])
  askedAt = clock
  await sleep(5 * DEADLINE_MS)
  expect([await isOver(question), circuit.isOut()]).toEqual([false, false])
  clock += DEADLINE_MS
  await question
  expect(circuit.isOut()).toBe(true)
})

it('a question is over at once while the store is out: it is asked already', async () => {
  circuit.open()
  await circuit.ask()
  expect(out).toHaveLength(1)
})

it('a question ends with the ledger, and opens nothing after that', async () => {
  const question = circuit.ask()
  circuit.endQuestion()
  await question
  expect(circuit.isAsking()).toBe(false)
  clock += DEADLINE_MS
  await sleep(5 * DEADLINE_MS)
  expect(out).toEqual([])
})

it('an open circuit closes when the store settles a batch', () => {
  circuit.open()
  circuit.settled()
  expect([circuit.isOut(), circuit.isAsking(), circuit.error()]).toEqual([false, false, null])
})

it('an open circuit names the reason for which the store stays out, which may be another than the one it went out for', () => {
  circuit.open()
  const first = circuit.error()
  expect([first, circuit.reason()]).toMatchObject([{ reason: 'timeout' }, 'timeout'])
  expect(circuit.error()).toBe(first)
  failure = failed('connection')
  expect([circuit.error(), circuit.reason()]).toMatchObject([{ reason: 'connection' }, 'connection'])
})

it('an open circuit stays open when the ledger closes', () => {
  circuit.open()
  circuit.endQuestion()
  expect([circuit.isOut(), circuit.isAsking()]).toEqual([true, true])
})
