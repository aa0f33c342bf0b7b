import { expect, test } from 'vitest'
import { packagesOf } from '../setup/packages.ts'

test('a worker reads no configuration and has no listener for administrators: what these need, and what sends spans, it does not load', () => {
  const loaded = packagesOf('src/workers/worker-main.ts')
  expect(loaded).toContain('pino')
  expect(loaded.filter((name) => /^(?:fastify|yaml|zod|@opentelemetry\/sdk.*)$/.test(name))).toEqual([])
})
