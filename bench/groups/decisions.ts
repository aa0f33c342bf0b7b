import { askingEnvoy, askingHaproxy, askingNginx, bareNginx, limitedEnvoy } from '../decisions/proxies.ts'
import type { Figure } from '../figures.ts'
import { freePort } from '../processes.ts'
import { sampleTable } from '../report.ts'
import { userName } from '../requests.ts'
import { measureRounds, type Row, rowOf, type Samples } from '../rows.ts'
import type { Running } from '../servers.ts'
import { paired, ratios } from '../statistics.ts'
import { type Bench, type Group, inShortTurns } from './group.ts'

/** As many users as in the rows of the other groups. */
const USERS = 1000
const TOKEN = 'a-token-of-the-services-of-the-benchmark'

/** A decision in each form, and a request through each proxy that asks, beside limiters that do not ask. */
export const decisions: Group = async (bench) => {
  const { stage, requests } = bench
  const [redis, upstream] = [await stage.redis(), await stage.upstream()]
  const [asked, ofServices] = [await freePort(), await freePort()]
  const started = (listen: number, more: object = {}) =>
    stage.gateway({
      ...{ upstream, store: redis },
      change: { decisions: { listen: `127.0.0.1:${listen}`, ...more } },
    })
  const gateway = await started(asked)
  const services = await started(ofServices, { token: TOKEN })
  const forms = formRows(bench, redis, { ...gateway, port: asked }, { ...services, port: ofServices })
  const through = (name: string, server: Running, more: Partial<Row> = {}): Row =>
    rowOf(name, server, requests.byUsers('GET', '/read'), more)
  const places = { service: upstream.port, decisions: asked }
  const asks = { beside: [gateway], redis }
  const limited = await limitedEnvoy(stage, upstream.port, redis)
  const known = { upstream, redis, known: requests.known }
  const proxies = {
    gateway: through('the gateway forwards itself', gateway, { redis }),
    bare: through('nginx, no quota', await bareNginx(stage, places)),
    nginx: through('nginx, auth_request', await askingNginx(stage, places), asks),
    haproxy: through('HAProxy, Lua', await askingHaproxy(stage, places), asks),
    envoy: through('Envoy, ext_authz', await askingEnvoy(stage, places), asks),
    lua: through('nginx + Lua + Redis', await stage.nginx(known), { redis }),
    ratelimit: through('Envoy + ratelimit + Redis', limited.server, { beside: limited.beside, redis }),
  }
  const turns = inShortTurns(bench)
  const samples = await measureRounds([...Object.values(forms), ...Object.values(proxies)], turns)
  return {
    title: 'Decisions for other proxies',
    intro: `CPU in microseconds, access logs off, ${turns.rounds} rounds of ${turns.seconds} s. The first rows ask the gateway and are one decision each. In the others a proxy stands in front, and "Proxy" has its CPU with that of the gateway or the service that it asks:`,
    lines: sampleTable(samples),
    figures: figures(samples, forms.nginx, proxies),
  }
}

/** The same charge, in the form of each proxy's and of a service's question. */
function formRows({ requests }: Bench, redis: Running, proxies: Running, services: Running) {
  const asked = (path: string, fields: string) =>
    requests.of(
      requests.credentials(USERS).map((jwt) => ({ path, credential: `${fields}Authorization: Bearer ${jwt}` })),
    )
  const row = (name: string, server: Running, list: string): Row =>
    rowOf(`a decision, ${name}`, server, list, { redis })
  const service = Array.from({ length: USERS }, (_, i) => ({
    ...{ method: 'POST', path: '/decide', credential: `Content-Type: application/json | X-Tollgate-Token: ${TOKEN}` },
    body: JSON.stringify({ method: 'GET', path: '/read', user: userName(i) }),
  }))
  return {
    nginx: row('/auth as nginx asks', proxies, asked('/auth', 'X-Original-Method: GET | X-Original-URI: /read | ')),
    traefik: row(
      '/auth as Traefik asks',
      proxies,
      asked('/auth', 'X-Forwarded-Method: GET | X-Forwarded-Uri: /read | '),
    ),
    envoy: row('/envoy', proxies, asked('/envoy/read', 'X-Forwarded-For: 10.0.0.1 | ')),
    service: row('POST /decide, with an id', services, requests.of(service)),
  }
}

type Through = Readonly<Record<'gateway' | 'bare' | 'nginx' | 'haproxy' | 'envoy' | 'lua' | 'ratelimit', Row>>

function figures(samples: Samples, decision: Row, { gateway, bare, nginx, envoy, lua, ratelimit }: Through): Figure[] {
  const of = (row: Row) => samples.get(row) ?? []
  const total = ({ total: all }: { readonly total: number }) => all
  return [
    {
      name: 'a decision as nginx asks against a request that the gateway forwards, CPU of the gateway',
      unit: 'x',
      values: ratios(of(decision), of(gateway), ({ proxy }) => proxy),
      target: { atMost: 0.85 },
    },
    {
      name: 'what asking costs nginx for one request, with gateway and Redis',
      unit: 'us',
      values: paired(of(nginx), of(bare), (a, b) => a.total - b.total),
      target: { atMost: 80 },
    },
    {
      name: 'nginx that asks, with gateway and Redis, against nginx + Lua + Redis',
      unit: 'x',
      values: ratios(of(nginx), of(lua), total),
      target: { atMost: 1 },
    },
    {
      name: 'Envoy that asks, with gateway and Redis, against Envoy + ratelimit + Redis',
      unit: 'x',
      values: ratios(of(envoy), of(ratelimit), total),
      target: { atMost: 1.1 },
    },
  ]
}
