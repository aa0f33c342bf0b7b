import { expect, test } from 'vitest'
import { packagesOf } from '../setup/packages.ts'

test('a worker reads no configuration and has no listener for administrators: what these need it does not load', () => {
  const loaded = packagesOf('src/workers/worker-main.ts')
  expect(loaded).toContain('pino')
  expect(loaded.filter((name) => ['fastify', 'yaml', 'zod'].includes(name))).toEqual([])
})
