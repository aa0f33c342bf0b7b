import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { prometheusTool } from '../setup/deploy-apt.ts'
import { freePort } from '../setup/redis.ts'

/** @returns the exit code, and everything that promtool wrote */
export function promtool(args: readonly string[], input = ''): { status: number | null; output: string } {
  const { status, stdout, stderr } = spawnSync(prometheusTool('promtool'), args, { input, encoding: 'utf8' })
  return { status, output: stdout + stderr }
}

/** One series of an answer, with its value now. */
export interface Series {
  readonly metric: Readonly<Record<string, string>>
  readonly value: number
}

export interface Prometheus {
  /** @throws Error with what Prometheus says, where the expression is wrong */
  query(expr: string): Promise<Series[]>
  /** Of its HTTP API, `data` of the answer. */
  api(path: string): Promise<unknown>
  stop(): Promise<void>
}

export interface PrometheusOptions {
  /** HOST:PORT of what is scraped, in one job. */
  readonly targets: readonly string[]
  readonly rules: string
}

/** A real Prometheus on a free port of the loopback, with its data in a folder that goes with it. It scrapes each second. */
export async function startPrometheus({ targets, rules }: PrometheusOptions): Promise<Prometheus> {
  const folder = mkdtempSync(join(tmpdir(), 'tollgate-prometheus-'))
  const address = `127.0.0.1:${await freePort()}`
  writeFileSync(join(folder, 'rules.yaml'), rules)
  const config = {
    global: { scrape_interval: '1s', scrape_timeout: '1s', evaluation_interval: '1s' },
    rule_files: ['rules.yaml'],
    scrape_configs: [{ job_name: 'tollgate', static_configs: [{ targets, labels: { namespace: 'prod' } }] }],
  }
  writeFileSync(join(folder, 'prometheus.yml'), JSON.stringify(config))
  const args = [
    `--config.file=${join(folder, 'prometheus.yml')}`,
    `--storage.tsdb.path=${join(folder, 'data')}`,
    `--web.listen-address=${address}`,
  ]
  const child = spawn(prometheusTool('prometheus'), args, { stdio: ['ignore', 'ignore', 'pipe'] })
  const exited = once(child, 'exit')
  const said: string[] = []
  child.stderr.on('data', (chunk: Buffer) => said.push(chunk.toString()))

  async function stop(): Promise<void> {
    child.kill('SIGTERM')
    await exited
    rmSync(folder, { recursive: true, force: true })
  }

  async function api(path: string): Promise<unknown> {
    const response = (await (await fetch(`http://${address}/api/v1/${path}`)).json()) as {
      data: unknown
      error?: string
    }
    if (response.error !== undefined) throw new Error(response.error)
    return response.data
  }

  async function query(expr: string): Promise<Series[]> {
    const { result } = (await api(`query?query=${encodeURIComponent(expr)}`)) as {
      result: { metric: Record<string, string>; value: [number, string] }[]
    }
    return result.map(({ metric, value }) => ({ metric, value: Number(value[1]) }))
  }

  for (let tries = 0; !(await isReady(address)); tries++) {
    if (child.exitCode !== null || tries > 400) {
      await stop()
      throw new Error(`Prometheus did not start: ${said.join('')}`)
    }
    await sleep(50)
  }
  return { query, api, stop }
}

async function isReady(address: string): Promise<boolean> {
  return fetch(`http://${address}/-/ready`).then(
    ({ ok }) => ok,
    () => false,
  )
}
