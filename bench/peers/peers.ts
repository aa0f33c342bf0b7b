import { mkdirSync, writeFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import type { Bench } from '../groups/group.ts'
import { freePort } from '../processes.ts'
import type { Running } from '../servers.ts'
import { envoyConfig, haproxyConfig, ratelimitRules, traefikConfig, traefikRules } from './configs.ts'
import { haproxy, peerTool, VERSIONS } from './tools.ts'

const file = (name: string): string => fileURLToPath(new URL(name, import.meta.url))

/** What a peer stands before and counts in. */
export interface Backends {
  readonly upstream: Running
  readonly redis: Running
}

/** Servers of a peer. */
export interface Started {
  /** The one that is asked. */
  readonly server: Running
  readonly beside?: readonly Running[]
  /** If it counts there. */
  readonly redis?: Running
}

/** What one would use instead. */
export interface Peer {
  readonly name: string
  /** What it does less than a charge of the gateway. */
  readonly less: string
  /** Makes its program where it is missing. @throws Error that says why that is not possible */
  prepare(): void
  start(backends: Backends): Promise<Started>
}

const NO_CHECK = 'verifies no credential'
const ONE = 'one limit, by the credential'

/** Those that need nothing beyond what the benchmark needs come first. */
export function peersOf(bench: Bench): readonly Peer[] {
  return [nginx(bench), pingora(bench), haproxyPeer(bench), envoy(bench), traefik(bench), expressRateLimit(bench)]
}

function nginx({ stage, requests }: Bench): Peer {
  return {
    name: 'nginx + Lua + Redis',
    less: `${NO_CHECK}, refunds nothing, sends no \`RateLimit\` fields`,
    prepare: () => {},
    start: async ({ upstream, redis }) => ({
      server: await stage.nginx({ upstream, redis, log: false, known: requests.known }),
      redis,
    }),
  }
}

function pingora({ stage, requests }: Bench): Peer {
  return {
    name: `Pingora ${VERSIONS.pingora} + Redis`,
    less: 'the same, with the same script; a program of 120 lines and no product',
    prepare: () => void peerTool('pingora'),
    start: async ({ upstream, redis }) => {
      const port = await freePort()
      const files = [requests.known, file('../nginx/charge.lua')]
      const command = [peerTool('pingora'), `${port}`, `${upstream.port}`, `${redis.port}`, ...files]
      return { server: await stage.server(command, port), redis }
    },
  }
}

function haproxyPeer({ stage }: Bench): Peer {
  return {
    name: 'HAProxy, stick table',
    less: `${NO_CHECK}; ${ONE}; counts in its own process, and forgets at a restart`,
    prepare: () => void haproxy(),
    start: async ({ upstream }) => {
      const port = await freePort()
      const config = join(stage.folder('haproxy'), 'haproxy.cfg')
      writeFileSync(config, haproxyConfig(port, upstream.port))
      return { server: await stage.server([haproxy(), '-db', '-f', config], port) }
    },
  }
}

function envoy({ stage }: Bench): Peer {
  return {
    name: `Envoy ${VERSIONS.envoy} + ratelimit + Redis`,
    less: `${NO_CHECK}; ${ONE}; several would not be charged all or none`,
    prepare: () => {
      peerTool('envoy')
      peerTool('ratelimit')
    },
    start: async ({ upstream, redis }) => {
      const [port, limiterPort, own] = [await freePort(), await freePort(), stage.folder('envoy')]
      const config = join(own, 'envoy.yaml')
      writeFileSync(config, envoyConfig(port, upstream.port, limiterPort))
      const command = [peerTool('envoy'), '-c', config, '--concurrency', '1', '--use-dynamic-base-id', '-l', 'error']
      const limiter = await stage.server(['env', ...(await limiterOf(own, limiterPort, redis))], limiterPort)
      return { server: await stage.server(command, port), beside: [limiter], redis }
    },
  }
}

/** @returns variables of its environment, then the program */
async function limiterOf(folder: string, port: number, redis: Running): Promise<string[]> {
  mkdirSync(join(folder, 'config'))
  writeFileSync(join(folder, 'config', 'bench.yaml'), ratelimitRules())
  const options = {
    HOST: '127.0.0.1',
    PORT: await freePort(),
    GRPC_HOST: '127.0.0.1',
    GRPC_PORT: port,
    DEBUG_HOST: '127.0.0.1',
    DEBUG_PORT: await freePort(),
    LOG_LEVEL: 'error',
    DISABLE_STATS: 'true',
    // Its rules are those of RUNTIME_ROOT/RUNTIME_SUBDIRECTORY/config.
    RUNTIME_ROOT: dirname(folder),
    RUNTIME_SUBDIRECTORY: basename(folder),
    RUNTIME_WATCH_ROOT: 'false',
    REDIS_SOCKET_TYPE: 'tcp',
    REDIS_URL: `127.0.0.1:${redis.port}`,
  }
  return [...Object.entries(options).map(([name, value]) => `${name}=${value}`), peerTool('ratelimit')]
}

function traefik({ stage }: Bench): Peer {
  return {
    name: `Traefik ${VERSIONS.traefik.slice(1)} + Redis`,
    less: `${NO_CHECK}; ${ONE}; a rate with a burst, no window`,
    prepare: () => void peerTool('traefik'),
    start: async ({ upstream, redis }) => {
      const [port, own] = [await freePort(), stage.folder('traefik')]
      const [config, rules] = [join(own, 'traefik.yaml'), join(own, 'rules.yaml')]
      writeFileSync(config, traefikConfig(port, rules))
      writeFileSync(rules, traefikRules(upstream.port, redis.port))
      const server = await stage.server([peerTool('traefik'), `--configFile=${config}`], port)
      await hasRoutes(port)
      return { server, redis }
    },
  }
}

const ROUTES_WITHIN_MS = 15_000

/** Traefik listens before it has read its routes: until then each request gets 404. */
async function hasRoutes(port: number): Promise<void> {
  const until = Date.now() + ROUTES_WITHIN_MS
  while ((await fetch(`http://127.0.0.1:${port}/`)).status === 404) {
    if (Date.now() > until) throw new Error('Traefik has no routes')
    await sleep(5)
  }
}

function expressRateLimit({ stage }: Bench): Peer {
  return {
    name: `express-rate-limit ${VERSIONS.expressRateLimit} + Redis`,
    less: `${NO_CHECK}; ${ONE}; in Express, before http-proxy-3`,
    prepare: () => void peerTool('expressRateLimit'),
    start: async ({ upstream, redis }) => {
      const port = await freePort()
      const numbers = [port, upstream.port, redis.port].map(String)
      const command = [process.execPath, file('express.ts'), ...numbers, peerTool('expressRateLimit')]
      return { server: await stage.server(command, port), redis }
    },
  }
}
