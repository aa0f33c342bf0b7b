/** Configurations of the peers. Each limits by the field `Authorization` and has a limit that no run reaches. JSON is YAML. */

const LIMIT = 4_000_000_000
const DOMAIN = 'bench'
const KEY = 'credential'

/** A stick table: a counter for each credential, in this process only. */
export const haproxyConfig = (port: number, upstream: number): string => `
global
  nbthread 1
  maxconn 4096
defaults
  mode http
  timeout client 1m
  timeout server 1m
  timeout connect 5s
  option http-keep-alive
  http-reuse always
frontend all
  bind 127.0.0.1:${port}
  stick-table type string len 512 size 100k expire 1h store http_req_cnt
  http-request deny deny_status 401 unless { req.hdr(authorization) -m found }
  http-request track-sc0 req.hdr(authorization)
  http-request deny deny_status 429 if { sc_http_req_cnt(0) gt ${LIMIT} }
  default_backend upstream
backend upstream
  server one 127.0.0.1:${upstream}
`

/** The static file of Traefik. @param dynamic the other file, with what can change while it runs */
export function traefikConfig(port: number, dynamic: string): string {
  return JSON.stringify({
    global: { checkNewVersion: false, sendAnonymousUsage: false },
    entryPoints: { web: { address: `127.0.0.1:${port}` } },
    providers: { file: { filename: dynamic, watch: false } },
    log: { level: 'ERROR' },
  })
}

/** A bucket of tokens for each credential, in Redis by a script. */
export function traefikRules(upstream: number, redis: number): string {
  const rateLimit = {
    average: 1_000_000,
    burst: 1_000_000,
    sourceCriterion: { requestHeaderName: 'Authorization' },
    redis: { endpoints: [`127.0.0.1:${redis}`] },
  }
  const services = { one: { loadBalancer: { servers: [{ url: `http://127.0.0.1:${upstream}` }] } } }
  // Two idle connections to the upstream are its default: each request above would open one.
  const serversTransports = { kept: { maxIdleConnsPerHost: 1100 } }
  Object.assign(services.one.loadBalancer, { serversTransport: 'kept' })
  const routers = { all: { rule: 'PathPrefix(`/`)', service: 'one', middlewares: ['limit'] } }
  return JSON.stringify({ http: { routers, services, serversTransports, middlewares: { limit: { rateLimit } } } })
}

const type = (name: string): object => ({ '@type': `type.googleapis.com/envoy.extensions.${name}` })

const cluster = (name: string, port: number, more: object = {}): object => ({
  name,
  type: 'STATIC',
  connect_timeout: '5s',
  load_assignment: {
    cluster_name: name,
    endpoints: [
      { lb_endpoints: [{ endpoint: { address: { socket_address: { address: '127.0.0.1', port_value: port } } } }] },
    ],
  },
  ...more,
})

/** Envoy, which asks the service of limits for each request. */
export function envoyConfig(port: number, upstream: number, limiter: number): string {
  const protocols = {
    'envoy.extensions.upstreams.http.v3.HttpProtocolOptions': {
      ...type('upstreams.http.v3.HttpProtocolOptions'),
      explicit_http_config: { http2_protocol_options: {} },
    },
  }
  const descriptor = { request_headers: { header_name: 'authorization', descriptor_key: KEY } }
  const route = { cluster: 'upstream', rate_limits: [{ actions: [descriptor] }] }
  const limit = {
    name: 'envoy.filters.http.ratelimit',
    typed_config: {
      ...type('filters.http.ratelimit.v3.RateLimit'),
      domain: DOMAIN,
      failure_mode_deny: true,
      rate_limit_service: {
        grpc_service: { envoy_grpc: { cluster_name: 'limiter' }, timeout: '2s' },
        transport_api_version: 'V3',
      },
      timeout: '2s',
    },
  }
  const router = { name: 'envoy.filters.http.router', typed_config: type('filters.http.router.v3.Router') }
  const manager = {
    ...type('filters.network.http_connection_manager.v3.HttpConnectionManager'),
    stat_prefix: 'bench',
    http_filters: [limit, router],
    route_config: {
      virtual_hosts: [{ name: 'all', domains: ['*'], routes: [{ match: { prefix: '/' }, route }] }],
    },
  }
  const filters = [{ name: 'envoy.filters.network.http_connection_manager', typed_config: manager }]
  const address = { socket_address: { address: '127.0.0.1', port_value: port } }
  return JSON.stringify({
    static_resources: {
      listeners: [{ address, filter_chains: [{ filters }] }],
      clusters: [
        cluster('upstream', upstream),
        cluster('limiter', limiter, { typed_extension_protocol_options: protocols }),
      ],
    },
  })
}

/** A window of an hour for each credential. */
export const ratelimitRules = (): string =>
  JSON.stringify({
    domain: DOMAIN,
    descriptors: [{ key: KEY, rate_limit: { unit: 'hour', requests_per_unit: LIMIT } }],
  })
