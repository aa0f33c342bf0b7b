import { join } from 'node:path'
import { describeReadings } from '../e2e/key-readings.ts'
import { run } from '../routing/spellings.ts'

describeReadings('the standard library of Go', () =>
  run('go', 'run', join(import.meta.dirname, '../e2e/services/keys.go')),
)
