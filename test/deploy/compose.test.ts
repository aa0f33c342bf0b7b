import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { parse } from 'yaml'
import { parseConfig } from '../../src/config/load.ts'
import { composeReader } from '../setup/deploy-image-tools.ts'
import { type RedisServer, startRedis } from '../setup/redis.ts'

/** config/compose.yaml, read by the library that Docker Compose itself reads its files with. */

const FILE = 'config/compose.yaml'

/** The file with everything that the library fills in. @throws Error with what is wrong with it: a bad key, a bad value */
function load(text: string): Project {
  // Without the variables: this build of the library asks for them in vain, also where they are set.
  const args = ['-no-interpolation', '-format', 'json', '-']
  return JSON.parse(execFileSync(composeReader(), args, { input: text, encoding: 'utf8', stdio: 'pipe' }))
}

interface Service {
  readonly image: string
  readonly ports?: readonly { readonly target: number; readonly published: string; readonly host_ip?: string }[]
  readonly networks: Readonly<Record<string, unknown>>
  readonly command?: readonly string[]
  readonly environment?: Readonly<Record<string, string>>
  readonly configs?: readonly { readonly source: string; readonly target: string }[]
  readonly healthcheck?: { readonly test: readonly string[] }
  readonly depends_on?: Readonly<Record<string, unknown>>
  readonly volumes?: readonly { readonly type: string; readonly source: string }[]
  readonly stop_grace_period?: string
}

interface Project {
  readonly services: Readonly<Record<'gateway' | 'backend' | 'redis', Service>>
  readonly networks: Readonly<Record<string, { readonly internal?: boolean }>>
  readonly configs: Readonly<Record<string, { readonly content: string }>>
  readonly volumes: Readonly<Record<string, unknown>>
}

/** Names that services use and the file does not define: the library's program does not look for those. */
function strays({ services, networks, configs, volumes }: Project): string[] {
  return Object.values(services).flatMap((service: Service) => [
    ...Object.keys(service.depends_on ?? {}).filter((name) => !(name in services)),
    ...(service.configs ?? []).map(({ source }) => source).filter((name) => !(name in configs)),
    ...Object.keys(service.networks).filter((name) => !(name in networks)),
    ...(service.volumes ?? []).map(({ source }) => source).filter((name) => !(name in volumes)),
  ])
}

const text = readFileSync(FILE, 'utf8')
const { services, networks, configs } = load(text)
const dockerfile = readFileSync('Dockerfile', 'utf8')

test('the Compose file keeps to the schema of the Compose specification', () => {
  expect(() => load(text.replace('read_only: true', 'readonly: true'))).toThrow(/readonly/)
  expect(() => load(text.replace('condition: service_healthy', 'condition: fine'))).toThrow(/condition/)
})

test('the Compose file names nothing that is not there', () => {
  expect(strays(load(text))).toEqual([])
  const broken = text.replace('networks: [store]', 'networks: [storage]').replace('- redis:/data', '- disk:/data')
  const more = broken.replace('source: gateway', 'source: gate').replace('      redis:\n', '      valkey:\n')
  expect(strays(load(more))).toEqual(['valkey', 'gate', 'storage', 'disk'])
})

test('the Compose file lets nobody reach the upstream or Redis but the gateway', () => {
  const { gateway, backend, redis } = services
  const isolated = (service: Service) =>
    Object.keys(service.networks).every((name) => networks[name]?.internal === true)
  expect([backend.ports, redis.ports]).toEqual([undefined, undefined])
  expect([isolated(backend), isolated(redis), isolated(gateway)]).toEqual([true, true, false])
  const shared = Object.keys(backend.networks).filter((name) => name in redis.networks)
  expect(shared).toEqual([])
  expect(Object.keys(gateway.networks)).toEqual(
    expect.arrayContaining([...Object.keys(backend.networks), ...Object.keys(redis.networks)]),
  )
})

test('the Compose file publishes the gateway to all, and its admin listener to this machine', () => {
  expect(services.gateway.ports).toMatchObject([
    { target: 8080, published: '8080' },
    { target: 9090, published: '9090', host_ip: '127.0.0.1' },
  ])
  expect(services.gateway.ports?.[0]?.host_ip).toBeUndefined()
})

test('the Compose file runs the gateway and Redis without rights and with a root that cannot be written', () => {
  const hardened = { read_only: true, cap_drop: ['ALL'], security_opt: ['no-new-privileges:true'] }
  expect(services.gateway).toMatchObject({ ...hardened, tmpfs: ['/tmp'] })
  expect(services.redis).toMatchObject({ ...hardened, user: 'redis' })
})

test('the Compose file has the health check and the place of the configuration that the image has', () => {
  const inImage = /^HEALTHCHECK .* CMD (\[.*\])$/m.exec(dockerfile)?.[1] ?? ''
  expect(services.gateway.healthcheck?.test).toEqual(['CMD', ...JSON.parse(inImage)])
  expect(services.gateway.configs).toEqual([
    { source: 'gateway', target: /TOLLGATE_CONFIG=(\S+)/.exec(dockerfile)?.[1] },
  ])
})

test('the Compose file has a configuration without problems, which asks for nothing that the service is not given', () => {
  const config = parseConfig((configs.gateway?.content ?? '').replaceAll('$$', '$'), FILE, {
    TOLLGATE_ADMIN_TOKEN: 'a-token-of-32-characters-or-more',
  })
  if (!config.ok) throw new Error(JSON.stringify(config.problems))
  const { upstream, store, admin, drain } = config.config
  expect(Object.keys(services.gateway.environment ?? {})).toEqual(['TOLLGATE_ADMIN_TOKEN'])
  expect(services).toHaveProperty(new URL(upstream.url).hostname)
  expect(services).toHaveProperty(new URL((store.location as { url: string }).url).hostname)
  expect(admin.listen).toEqual({ host: '0.0.0.0', port: 9090 })
  // Clients that keep their connection are told that it ends.
  expect(drain.delayMs).toBeGreaterThan(0)
  const grace = Number(/^(\d+)s$/.exec(services.gateway.stop_grace_period ?? '')?.[1]) * 1000
  expect(grace).toBeGreaterThanOrEqual(drain.delayMs + drain.timeoutMs + 15_000)
})

test('the Compose file asks for an admin token where none is given', () => {
  const written = parse(text).services.gateway.environment.TOLLGATE_ADMIN_TOKEN
  expect(written).toMatch(/^\$\{TOLLGATE_ADMIN_TOKEN:\?.+\}$/)
})

describe('the Redis of the Compose file', () => {
  let redis: RedisServer | undefined

  test('the Redis of the Compose file keeps every counter and writes down what it is told', async () => {
    const [command, ...args] = services.redis.command ?? []
    expect(command).toBe('redis-server')
    redis = await startRedis({ args })
    const get = (name: string) =>
      execFileSync('redis-cli', ['-p', String(redis?.port), 'config', 'get', name], { encoding: 'utf8' }).split('\n')[1]
    expect([get('maxmemory-policy'), get('appendonly')]).toEqual(['noeviction', 'yes'])
  })
})
