import { expect, test } from 'vitest'
import { EXAMPLES } from '../../src/contract/examples.ts'
import { recordedExamples } from './recorded-examples.ts'

/** What a gateway makes at random: ids of layers, of access keys and of replies, links, and the keys themselves. */
const RANDOM = /gw_[\w-]+|(?<=handover#)[\w-]+|[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}|(?<=["-])[\da-f]{12}(?=")/g

test('the examples are what a gateway responds today (node test/contract/recorded-examples.ts records them anew)', async () => {
  const shown = (examples: object) => JSON.parse(JSON.stringify(examples).replace(RANDOM, 'random'))
  expect(shown(await recordedExamples(EXAMPLES))).toEqual(shown(EXAMPLES))
})
