import { expect, onTestFinished, test, vi } from 'vitest'
import { z } from 'zod'
import { readFields } from '../../src/admin/fields.ts'

const Schema = z.strictObject({ token: z.string({ error: 'must be a text' }) })
const unknown = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, i) => [`f${i}`, 0]))
const problemOf = (i: number) => ({ path: `f${i}`, msg: `unknown field "f${i}"; there is token` })

test('twenty problems are described, each with its cure', () => {
  const token = { path: 'token', msg: 'must be a text' }
  const problems = [token, ...Array.from({ length: 19 }, (_, i) => problemOf(i))]
  expect(readFields(Schema, { token: 7, ...unknown(19) })).toEqual({ problems })
})

test('problems beyond twenty are counted, and cost no description', () => {
  const quote = vi.spyOn(JSON, 'stringify')
  onTestFinished(() => quote.mockRestore())
  const fields = readFields(Schema, { token: 't', ...unknown(6000) })
  expect(quote).toHaveBeenCalledTimes(20)
  const described = Array.from({ length: 20 }, (_, i) => problemOf(i))
  expect(fields).toEqual({ problems: [...described, { path: '', msg: '5980 more problems' }] })
  expect(readFields(Schema, { token: 't', ...unknown(21) })).toEqual({
    problems: [...described, { path: '', msg: '1 more problem' }],
  })
})
