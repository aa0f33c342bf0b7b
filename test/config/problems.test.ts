import { expect, test } from 'vitest'
import { formatPath, formatProblems, type Problem, quote, sortProblems } from '../../src/config/problems.ts'

const problem = (
  line: number,
  column: number,
  message: string,
  severity: Problem['severity'] = 'problem',
): Problem => ({
  file: 'tollgate.yaml',
  line,
  column,
  path: 'routes[0]',
  message,
  severity,
})

test('a problem is one line: file, line, column, path, what is wrong', () => {
  expect(formatProblems([problem(3, 5, 'is wrong: mend it'), problem(4, 1, 'is odd', 'warning')])).toBe(
    'tollgate.yaml:3:5 routes[0]: is wrong: mend it\ntollgate.yaml:4:1 routes[0]: warning: is odd',
  )
})

test('problems are listed by line, then column, each once', () => {
  const sorted = sortProblems([
    problem(9, 1, 'c'),
    problem(10, 2, 'd'),
    problem(2, 7, 'b'),
    problem(2, 3, 'a'),
    problem(9, 1, 'c'),
  ])
  expect(sorted.map(({ message }) => message).join('')).toBe('abcd')
})

test('a path is written as one would write it in code', () => {
  expect(formatPath(['routes', 3, 'cost', 'values', 'two words'])).toBe('routes[3].cost.values["two words"]')
  expect(formatPath(['a\nb'])).toBe('["a\\nb"]')
  expect(formatPath([])).toBe('file')
})

test('quoted text stays on its line and is not endless', () => {
  expect(quote('a\n\u001b[31m')).toBe('"a\\n\\u001b[31m"')
  expect(quote('x'.repeat(1000))).toHaveLength(62)
})
