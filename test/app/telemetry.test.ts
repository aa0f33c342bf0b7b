import { spawn } from 'node:child_process'
import { text } from 'node:stream/consumers'
import { expect, test } from 'vitest'
import { createTelemetry } from '../../src/app/telemetry.ts'
import { parseConfig } from '../../src/config/load.ts'

const PROGRAM = `
  import { createTelemetry } from ${JSON.stringify(new URL('../../src/app/telemetry.ts', import.meta.url).href)}
  const { observe, log, metrics } = createTelemetry({ config: { log: { level: 'info', requests: 'all' }, metrics: { byRoute: 'auto' }, routes: [] }, version: '1', gauges: [] })
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

const routes = (count: number) =>
  Array.from({ length: count }, (_, i) => `  - { match: GET /r${i}, public: true }`).join('\n')
const isShown = async (byRoute: string, count: number): Promise<boolean> => {
  const text = `upstream: { url: "http://127.0.0.1:1" }\nmetrics: { by_route: ${byRoute} }\nroutes:\n${routes(count)}`
  const loaded = parseConfig(text, 'tollgate.yaml', {})
  if (!loaded.ok) throw new Error(JSON.stringify(loaded.problems))
  const { delay, log, metrics } = createTelemetry({ config: loaded.config, version: '1', gauges: [] })
  const shown = await metrics.render()
  delay.stop()
  await log.close()
  return shown.includes('tollgate_route_requests_total')
}

test('metrics of each rule are there with up to 100 rules, and with more only if the configuration says so', async () => {
  expect(await isShown('auto', 100)).toBe(true)
  expect(await isShown('auto', 101)).toBe(false)
  expect(await isShown('always', 101)).toBe(true)
  expect(await isShown('never', 1)).toBe(false)
})
