import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { blocksIn } from '../../test/docs/blocks.ts'
import { guideTool } from '../../test/setup/guides-tools.ts'
import { installGo, keptTool, makeTool } from '../../test/setup/kept-tools.ts'
import { ensureDebian } from '../machine.ts'
import { forwardingConfig } from '../nginx/config.ts'
import { freePort } from '../processes.ts'
import type { Running, Stage } from '../servers.ts'

/** Proxies that forward, in the form of their guides, and Envoy with a service of limits in place of the gateway. */

/** The ports that a guide uses. */
export interface Places {
  readonly service: number
  readonly decisions: number
}

function blockOf(page: string, language: string): string {
  const text = readFileSync(new URL(`../../docs/guides/${page}.md`, import.meta.url), 'utf8')
  const block = blocksIn(text).find((each) => each.language === language && each.file !== null)
  if (block === undefined) throw new Error(`docs/guides/${page}.md has no file in ${language}`)
  return block.text
}

const KEPT = 'proxy_http_version 1.1; proxy_set_header Connection "";'

/** nginx that forwards and asks nobody. */
export function bareNginx(stage: Stage, places: Places): Promise<Running> {
  return nginx(stage, places, (port) => `listen 127.0.0.1:${port}; location / { ${KEPT} proxy_pass http://service; }`)
}

/** nginx with kept connections to the gateway, as in the last part of its guide. */
export function askingNginx(stage: Stage, places: Places): Promise<Running> {
  return nginx(stage, places, (port) =>
    blockOf('nginx', 'nginx')
      .replace('127.0.0.1:8000', `127.0.0.1:${port}`)
      .replace('proxy_pass http://127.0.0.1:3000', 'proxy_pass http://service')
      .replace('proxy_pass http://127.0.0.1:8082', `${KEPT} proxy_pass http://decisions`),
  )
}

async function nginx(stage: Stage, places: Places, serverAt: (port: number) => string): Promise<Running> {
  const [port, own] = [await freePort(), stage.folder('nginx')]
  const config = join(own, 'nginx.conf')
  writeFileSync(config, forwardingConfig(serverAt(port), places))
  return stage.server(['nginx', '-p', own, '-e', 'stderr', '-c', config, '-g', 'daemon off;'], port)
}

export async function askingHaproxy(stage: Stage, { service, decisions }: Places): Promise<Running> {
  ensureDebian(new Map([['haproxy', '/usr/sbin/haproxy']]))
  const [port, own] = [await freePort(), stage.folder('haproxy')]
  const [config, script] = [join(own, 'haproxy.cfg'), join(own, 'tollgate.lua')]
  writeFileSync(script, blockOf('haproxy', 'lua').replace('127.0.0.1:8082', `127.0.0.1:${decisions}`))
  const text = blockOf('haproxy', 'haproxy')
    .replace('lua-load tollgate.lua', `nbthread 1\n  lua-load ${script}`)
    .replace('127.0.0.1:8000', `127.0.0.1:${port}`)
    .replace('127.0.0.1:3000', `127.0.0.1:${service}`)
  writeFileSync(config, text)
  return stage.server(['/usr/sbin/haproxy', '-db', '-f', config], port)
}

export async function askingEnvoy(stage: Stage, { service, decisions }: Places): Promise<Running> {
  const port = await freePort()
  const moved = { 8000: port, 3000: service, 8082: decisions }
  const text = Object.entries(moved).reduce(
    (all, [from, to]) => all.replaceAll(`port_value: ${from} `, `port_value: ${to} `),
    blockOf('envoy', 'yml'),
  )
  return envoy(stage, port, text)
}

async function envoy(stage: Stage, port: number, text: string): Promise<Running> {
  const config = join(stage.folder('envoy'), 'envoy.yaml')
  writeFileSync(config, text)
  const options = ['--concurrency', '1', '--use-dynamic-base-id', '-l', 'critical']
  return stage.server([guideTool('envoy'), '-c', config, ...options], port)
}

const RATELIMIT = 'github.com/envoyproxy/ratelimit/src/service_cmd@v1.4.1-0.20260122083618-3fb702589d36'

/** @throws Error that says why the service cannot be made */
function ratelimit(): string {
  const tool = {
    file: 'ratelimit-3fb702589d36/service_cmd',
    made: { by: 'go', asked: 'version', of: 'Go 1.26' },
    make: (folder: string) => installGo(folder, RATELIMIT),
  }
  if (keptTool(tool) === null) makeTool(tool)
  return keptTool(tool) as string
}

/** A limit that no run reaches. The files of Envoy and of its service share it. */
const [LIMIT, DOMAIN, KEY] = [4_000_000_000, 'bench', 'credential']

/** Envoy, which asks its service for one window of an hour for each credential, and that service. */
export async function limitedEnvoy(
  stage: Stage,
  service: number,
  redis: Running,
): Promise<{ readonly server: Running; readonly beside: readonly Running[] }> {
  const [port, limits, own] = [await freePort(), await freePort(), stage.folder('ratelimit')]
  mkdirSync(join(own, 'config'))
  const descriptors = [{ key: KEY, rate_limit: { unit: 'hour', requests_per_unit: LIMIT } }]
  writeFileSync(join(own, 'config', 'bench.yaml'), JSON.stringify({ domain: DOMAIN, descriptors }))
  const settings = {
    ...{ HOST: '127.0.0.1', PORT: await freePort(), GRPC_HOST: '127.0.0.1', GRPC_PORT: limits },
    ...{ DEBUG_HOST: '127.0.0.1', DEBUG_PORT: await freePort(), LOG_LEVEL: 'error', DISABLE_STATS: 'true' },
    // The service reads its rules from RUNTIME_ROOT/RUNTIME_SUBDIRECTORY/config.
    ...{ RUNTIME_ROOT: dirname(own), RUNTIME_SUBDIRECTORY: basename(own), RUNTIME_WATCH_ROOT: 'false' },
    ...{ REDIS_SOCKET_TYPE: 'tcp', REDIS_URL: `127.0.0.1:${redis.port}` },
  }
  const variables = Object.entries(settings).map(([name, value]) => `${name}=${value}`)
  const limiter = await stage.server(['env', ...variables, ratelimit()], limits)
  return { server: await envoy(stage, port, limitedConfig(port, service, limits)), beside: [limiter] }
}

const type = (name: string): object => ({ '@type': `type.googleapis.com/envoy.extensions.${name}` })

function limitedConfig(port: number, service: number, limits: number): string {
  const cluster = (name: string, at: number, more: object = {}) => {
    const endpoint = { address: { socket_address: { address: '127.0.0.1', port_value: at } } }
    return { name, load_assignment: { cluster_name: name, endpoints: [{ lb_endpoints: [{ endpoint }] }] }, ...more }
  }
  const http2 = {
    'envoy.extensions.upstreams.http.v3.HttpProtocolOptions': {
      ...type('upstreams.http.v3.HttpProtocolOptions'),
      explicit_http_config: { http2_protocol_options: {} },
    },
  }
  const limit = {
    ...type('filters.http.ratelimit.v3.RateLimit'),
    ...{ domain: DOMAIN, failure_mode_deny: true, timeout: '2s' },
    rate_limit_service: {
      grpc_service: { envoy_grpc: { cluster_name: 'limits' }, timeout: '2s' },
      transport_api_version: 'V3',
    },
  }
  const actions = [{ request_headers: { header_name: 'authorization', descriptor_key: KEY } }]
  const route = { cluster: 'service', rate_limits: [{ actions }] }
  const manager = {
    ...type('filters.network.http_connection_manager.v3.HttpConnectionManager'),
    stat_prefix: 'bench',
    http_filters: [
      { name: 'envoy.filters.http.ratelimit', typed_config: limit },
      { name: 'envoy.filters.http.router', typed_config: type('filters.http.router.v3.Router') },
    ],
    route_config: { virtual_hosts: [{ name: 'all', domains: ['*'], routes: [{ match: { prefix: '/' }, route }] }] },
  }
  const filters = [{ name: 'envoy.filters.network.http_connection_manager', typed_config: manager }]
  const address = { socket_address: { address: '127.0.0.1', port_value: port } }
  const listeners = [{ address, filter_chains: [{ filters }] }]
  const clusters = [cluster('service', service), cluster('limits', limits, { typed_extension_protocol_options: http2 })]
  return JSON.stringify({ static_resources: { listeners, clusters } })
}
