import { expect, test } from 'vitest'
import { selfTimes } from '../../bench/profile.ts'

const at = (id: number, functionName: string, url: string, lineNumber = 0) => ({
  id,
  callFrame: { functionName, url, lineNumber },
})

test('a function that is called from two places counts once, with the time of both', () => {
  const times = selfTimes({
    nodes: [
      at(1, '(program)', ''),
      at(2, 'admit', 'file:///x/src/gateway.ts', 9),
      at(3, 'admit', 'file:///x/src/gateway.ts', 9),
    ],
    samples: [1, 2, 3, 2],
    timeDeltas: [5, 10, 20, 30],
  })
  expect(times).toEqual([
    { name: 'admit', place: 'src/gateway.ts:10', us: 60 },
    { name: '(program)', place: '', us: 5 },
  ])
})

test('two functions of one name stay apart', () => {
  const times = selfTimes({
    nodes: [at(1, '', 'file:///x/src/a.ts', 1), at(2, '', 'file:///x/src/a.ts', 2)],
    samples: [1, 2],
    timeDeltas: [1, 2],
  })
  expect(times.map(({ place }) => place)).toEqual(['src/a.ts:3', 'src/a.ts:2'])
})

test('what was before the time that counts is left out', () => {
  const nodes = [at(1, 'start', ''), at(2, 'work', '')]
  expect(selfTimes({ nodes, samples: [1, 2, 2], timeDeltas: [50, 10, 20] }, 30)).toEqual([
    { name: 'work', place: '', us: 30 },
  ])
})
