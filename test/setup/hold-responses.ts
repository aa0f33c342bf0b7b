import { afterAll, afterEach, expect } from 'vitest'
import { endStarted } from './at-end.ts'
import { wrongResponses } from './own-responses.ts'

afterEach(async () => {
  expect(await wrongResponses(), 'responses that are not as their document promises').toEqual([])
})
afterAll(endStarted)
