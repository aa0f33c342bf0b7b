import { STATUS_OF as ADMIN_STATUS_OF } from '../../src/admin/http.ts'
import { STATUS_OF } from '../../src/errors.ts'
import { createMetrics } from '../../src/observe/metrics.ts'
import { startAdmin } from '../admin/running.ts'
import { logLines } from './log-lines.ts'

/** What users of a release rely on and no other golden file holds. */
export interface Face {
  /** By code: the status. */
  readonly errors: Readonly<Record<string, number>>
  readonly adminErrors: Readonly<Record<string, number>>
  /** `# HELP` and `# TYPE` of each metric that needs no running gateway. */
  readonly metrics: readonly string[]
  /** Level, message and names of the fields of each line. */
  readonly logLines: readonly string[]
  /** The OpenAPI document of the admin API. */
  readonly adminApi: unknown
}

export async function collectFace(): Promise<Face> {
  return {
    errors: { ...STATUS_OF },
    adminErrors: { ...ADMIN_STATUS_OF },
    metrics: await metricsOf(),
    logLines: await logLines(),
    adminApi: await adminApi(),
  }
}

async function metricsOf(): Promise<string[]> {
  const text = await createMetrics({ version: '0.0.0' }).render()
  return text
    .split('\n')
    .filter((line) => line.startsWith('# ') && line.includes(' tollgate_'))
    .sort()
}

async function adminApi(): Promise<unknown> {
  const running = await startAdmin({ drain: { isOn: () => false, turn: () => {} } })
  const { text } = await running.call('GET', '/openapi.json', { headers: { authorization: '' } })
  // Nobody relies on what an example has.
  return JSON.parse(text, (name, value) => (name === 'examples' || name === 'example' ? undefined : value))
}
