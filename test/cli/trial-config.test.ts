import { expect, test } from 'vitest'
import { trialConfig } from '../../src/cli/trial-config.ts'
import { parseConfig } from '../../src/config/load.ts'

const trial = {
  upstream: 'http://127.0.0.1:3000',
  listen: '127.0.0.1:8080',
  admin: '127.0.0.1:9090',
  key: 'X-API-Key',
  token: 'a'.repeat(64),
  store: `/tmp/\${NAME:-other}/"t".db`,
}

test('a value is what it is, also if it looks like a variable of the environment', () => {
  const loaded = parseConfig(trialConfig(trial), 'tollgate.yaml', {})
  expect(loaded.ok && loaded.config.store.location).toEqual({ kind: 'sqlite', path: trial.store })
})
