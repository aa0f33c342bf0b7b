import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { printSchema, readValues, valuesSchema } from '../setup/chart-docs.ts'

test('the schema of the chart’s values has the schema of tollgate.yaml as it is now', () => {
  // Otherwise: npm run schema
  expect(readFileSync('helm/values.schema.json', 'utf8')).toBe(printSchema(valuesSchema(readValues())))
})
