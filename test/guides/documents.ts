import { readFileSync } from 'node:fs'
import { adminDocument } from '../../build/reference/documents.ts'
import { parseConfig } from '../../src/config/load.ts'
import { gatewayDocument } from '../../src/reference/document.ts'

const SERVICE = 'http://127.0.0.1:9000'
const ENV = {
  TOLLGATE_UPSTREAM: SERVICE,
  TOLLGATE_STORE: 'sqlite::memory:',
  SCORE_BACKEND_SECRET: 'x'.repeat(20),
  TOLLGATE_ADMIN_TOKEN: 'test-admin-token-0001',
  TOLLGATE_JWT_SECRET: 'x'.repeat(40),
  SYNC_URL: SERVICE,
  CHART_URL: SERVICE,
}

const fileOf = (path: string): string => readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8')

/** The documents that somebody makes a client of: of the administrators, and of the demo's gateway with its service behind it. */
export async function documentsOfClients(): Promise<Readonly<Record<'admin' | 'gateway', object>>> {
  const loaded = parseConfig(fileOf('config/demo.yaml'), 'config/demo.yaml', ENV)
  if (!loaded.ok) throw new Error(JSON.stringify(loaded.problems))
  const published = { failureRate: true, prices: true }
  const upstream = JSON.parse(fileOf('config/score/openapi.json'))
  const gateway = gatewayDocument({ config: { ...loaded.config, published }, path: '/reference', upstream })
  return { gateway, admin: await adminDocument() }
}
