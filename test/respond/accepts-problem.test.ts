import { expect, it } from 'vitest'
import { acceptsProblem } from '../../src/respond/accepts-problem.ts'

it.each([
  'application/problem+json',
  'Application/Problem+JSON; charset=utf-8',
  'application/json, application/problem+json',
  'text/html;q=0.9,application/problem+json;q=0.1',
  'application/problem+json;q=0.5, application/json;q=0.4',
  'application/problem+json, */*;q=0.8',
  'application/problem+json;q=0.4, application/json;q=0.2, */*',
  'application/problem+json; Q=1.000',
  'application/problem+json;q=0, application/problem+json',
  'application/problem+json;q=high',
  'application/problem+json ; profile=x',
])('a client gets a problem document that accepts %s', (accept) => {
  expect(acceptsProblem(accept)).toBe(true)
})

it.each([
  undefined,
  '',
  '*/*',
  'application/*',
  'application/json',
  'application/problem+xml',
  'application/problem+json5',
  'x-application/problem+json',
  'application/problem+json;q=0',
  'application/problem+json; q=0.000',
  'application/problem+json;q=0;v=1',
  'application/problem+json;charset=utf-8;q=0, application/json',
  'application/json, application/problem+json;q=0.5',
  'application/problem+json;q=0.5, application/*',
  'application/problem+json;q=0.5, */*;q=0.6',
  'text/plain, application/problem+json;q=0.0',
])('a client gets JSON that accepts %s', (accept) => {
  expect(acceptsProblem(accept)).toBe(false)
})
