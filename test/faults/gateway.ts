import { writeFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { SECRET } from '../e2e/harness.ts'
import { type GatewayProcess, spawnGateway } from '../e2e/process.ts'
import { freePort } from '../setup/redis.ts'

/** A gateway as a process of its own, with its configuration in a file that can be rewritten. */
export interface Gateway {
  readonly url: string
  readonly admin: string
  readonly file: string
  readonly process: GatewayProcess
  /** Samples of `/metrics` that begin with this, added up. */
  metric(start: string): Promise<number>
  /** `200`, or the status and the reasons why it is not ready, or not as it should be. */
  readiness(): Promise<string>
  /** Log lines that are not of requests. */
  events(): Record<string, unknown>[]
}

export interface GatewayOptions {
  readonly file: string
  /** Everything but the addresses and who may come in. */
  readonly config: string
  readonly issuers?: string | undefined
  readonly url?: string
  readonly admin?: string
  readonly env?: Record<string, string>
}

export const ADMIN_TOKEN = 'test-admin-token-of-32-characters'

/** The part of a configuration that all tests share. @param issuers more of `auth.jwt`, each with a comma behind it. Default none */
export function commonConfig(listen: string, admin: string, issuers = ''): string {
  return `
listen: ${listen}
admin: { listen: "${admin}", token: ${ADMIN_TOKEN} }
auth:
  jwt: [${issuers} { issuer: "https://id.test", audience: tollgate, secret: ${SECRET}, algorithms: [HS256], organisation_claim: org }]
  gateway_tokens: true
`
}

export async function startGateway(options: GatewayOptions): Promise<Gateway> {
  const { file, config, env = {} } = options
  const url = options.url ?? `http://127.0.0.1:${await freePort()}`
  const admin = options.admin ?? `http://127.0.0.1:${await freePort()}`
  writeFileSync(
    file,
    commonConfig(url.slice('http://'.length), admin.slice('http://'.length), options.issuers) + config,
  )
  const process = await spawnGateway(file, `${url}/`, env)
  return {
    url,
    admin,
    file,
    process,
    metric: async (start) => {
      const text = await (await fetch(`${admin}/metrics`)).text()
      const samples = text.split('\n').filter((line) => line.startsWith(start))
      return samples.reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(' '))), 0)
    },
    readiness: async () => {
      const response = await fetch(`${admin}/readyz`)
      const { reasons, degraded } = (await response.json()) as { reasons?: string[]; degraded?: string[] }
      return `${response.status} ${(reasons ?? degraded ?? []).join(', ')}`.trim()
    },
    events: () => process.lines().filter((line) => line.msg !== 'request'),
  }
}

/** Ends what still runs, whatever came before. */
export async function endGateway({ process: { child, end } }: Gateway): Promise<void> {
  if (child.exitCode === null && child.signalCode === null) await end('SIGKILL')
}

/** It has found its store; for before the first test, if nothing is expected yet. */
export async function untilReady({ readiness }: Pick<Gateway, 'readiness'>): Promise<void> {
  for (let tries = 0; (await readiness()) !== '200'; tries++) {
    if (tries > 400) throw new Error(`not ready: ${await readiness()}`)
    await sleep(50)
  }
}
