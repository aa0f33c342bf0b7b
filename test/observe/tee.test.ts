import { expect, test } from 'vitest'
import type { Observation } from '../../src/observe/observation.ts'
import { fanOut } from '../../src/observe/tee.ts'

test('every reader gets every observation, in order', () => {
  const seen: string[] = []
  const observe = fanOut([(o) => seen.push(`a ${o.type}`), (o) => seen.push(`b ${o.type}`)])
  observe({ type: 'stopped' })
  observe({ type: 'upgrade_opened' })
  expect(seen).toEqual(['a stopped', 'b stopped', 'a upgrade_opened', 'b upgrade_opened'])
})

test('a reader that throws harms neither the caller nor the others, which hear of it', () => {
  const seen: Observation[] = []
  const broken = new Error('reader broke')
  const observe = fanOut([
    () => {
      throw broken
    },
    (o) => seen.push(o),
  ])
  observe({ type: 'stopped' })
  expect(seen).toEqual([{ type: 'internal_error', where: 'observer', error: broken }, { type: 'stopped' }])
})

test('a reader that throws does not hear of it itself', () => {
  const told: string[] = []
  const observe = fanOut([
    ({ type }) => {
      told.push(type)
      throw new Error('reader broke')
    },
  ])
  observe({ type: 'stopped' })
  expect(told).toEqual(['stopped'])
})

test('readers that all throw are survived', () => {
  const breaks = () => {
    throw new Error('broken')
  }
  expect(() => fanOut([breaks, () => breaks()])({ type: 'stopped' })).not.toThrow()
})
