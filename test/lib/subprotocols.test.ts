import { expect, it } from 'vitest'
import { offeredIn } from '../../src/lib/subprotocols.ts'

it.each([
  ['bearer, T', [['bearer', 'T']], []],
  ['chat ,bearer,T,, v2', [['bearer', 'T']], ['chat', 'v2']],
  [
    'bearer, T, bearer, U',
    [
      ['bearer', 'T'],
      ['bearer', 'U'],
    ],
    [],
  ],
  ['chat, bearer', [], ['chat', 'bearer']],
  ['Bearer, T', [], ['Bearer', 'T']],
  ['bearer, bearer', [['bearer', 'bearer']], []],
  ['', [], []],
])('%j offers %j and %j', (list, credentials, others) => {
  expect(offeredIn(list, new Set(['bearer']))).toEqual({ credentials, others })
})
