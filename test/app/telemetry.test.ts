import { spawn } from 'node:child_process'
import { text } from 'node:stream/consumers'
import { expect, test } from 'vitest'

const PROGRAM = `
  import { createTelemetry } from ${JSON.stringify(new URL('../../src/app/telemetry.ts', import.meta.url).href)}
  const { observe, log, metrics } = createTelemetry({ log: { level: 'info', requests: 'all' }, version: '1', gauges: [] })
  process.stdin.resume().on('end', async () => {
    for (let i = 0; i < 3; i++) observe({ type: 'stopped' })
    await log.flush()
    process.stderr.write(await metrics.render())
  })
`

test('lines of the log that nobody reads any more are counted', async () => {
  const child = spawn(process.execPath, ['--input-type=module-typescript', '-e', PROGRAM])
  child.stdout.destroy()
  child.stdin.end()
  expect(await text(child.stderr)).toMatch(/^tollgate_log_lost_lines_total 3$/m)
})
