import { mkdirSync, mkdtempSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { checkoutOf, configurationFor, measuredOn, REFERENCE } from '../../bench/checkout.ts'
import { parseConfig } from '../../src/config/load.ts'
import { tempFolder } from '../setup/at-end.ts'

const folder = tempFolder()

function checkoutWith(name: string, schema: object): string {
  const checkout = join(folder, name)
  mkdirSync(join(checkout, 'config'), { recursive: true })
  writeFileSync(join(checkout, 'config/tollgate.schema.json'), JSON.stringify(schema))
  return checkout
}

test('an older checkout gets the configuration without the keys that it does not know, which are named', () => {
  const closed = (properties: object) => ({ type: 'object', properties, additionalProperties: false })
  const baselines = { type: 'object', additionalProperties: { type: 'object' } }
  const older = checkoutWith(
    'older',
    closed({ listen: {}, edge: closed({ max_url: {} }), quota: closed({ baselines }) }),
  )
  const configuration = {
    listen: '127.0.0.1:0',
    edge: { max_url: '8KiB', shares: { address: 'none' } },
    quota: { baselines: { personal: { read: { '1h': 1 } } } },
    decisions: { listen: '127.0.0.1:0' },
  }
  expect(configurationFor(older, configuration)).toEqual({
    fitting: {
      listen: '127.0.0.1:0',
      edge: { max_url: '8KiB' },
      quota: { baselines: { personal: { read: { '1h': 1 } } } },
    },
    left: ['edge.shares', 'decisions'],
  })
})

test('the configuration of the benchmark stays whole where all of its keys are known', () => {
  const configuration = { upstream: { url: 'http://127.0.0.1:1' }, store: 'sqlite::memory:', edge: { max_url: '8KiB' } }
  const root = join(import.meta.dirname, '../..')
  expect(configurationFor(root, configuration)).toEqual({ fitting: configuration, left: [] })
  expect(parseConfig(JSON.stringify(configuration), 'a.yaml', {}).ok).toBe(true)
})

test('the reference is a commit of this repository, whose schema lacks what came later', () => {
  const own = mkdtempSync(join(folder, 'reference-'))
  const { name, folder: checkout } = checkoutOf(REFERENCE, own)
  expect(name).toContain(REFERENCE)
  const edge = { max_connections_per_address: 'none', shares: { address: 'none' } }
  expect(configurationFor(checkout, { edge })).toEqual({
    fitting: { edge: { max_connections_per_address: 'none' } },
    left: ['edge.shares'],
  })
})

test('the folder of a checkout is taken as it is, and what is no commit is refused', () => {
  const root = join(import.meta.dirname, '../..')
  expect(checkoutOf(root, folder)).toEqual({ name: root, folder: root })
  expect(() => checkoutOf('no-such-commit', folder)).toThrow()
})

test('a table says on which day and at which commit it was measured', () => {
  expect(measuredOn()).toMatch(/^Measured on \d{4}-\d\d-\d\d at [0-9a-f]{7,}( with changes)?$/)
})
