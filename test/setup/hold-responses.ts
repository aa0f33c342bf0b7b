import { afterEach, expect } from 'vitest'
import { wrongResponses } from './own-responses.ts'

afterEach(async () => {
  expect(await wrongResponses(), 'responses that are not as their document promises').toEqual([])
})
