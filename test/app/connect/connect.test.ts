import { generateKeyPairSync } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type RequestListener } from 'node:http'
import https from 'node:https'
import { createServer as createTcp } from 'node:net'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { Redis } from 'ioredis'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { tryConnections } from '../../../src/app/connect/connect.ts'
import { parseConfig } from '../../../src/config/load.ts'
import { startPeopleProvider } from '../../admin/people-provider.ts'
import { tempFolder } from '../../setup/at-end.ts'
import { listening } from '../../setup/listening.ts'
import { type Certificate, makeCa, makeCertificate } from '../../setup/openssl.ts'
import { type RedisServer, startRedis } from '../../setup/redis.ts'

/** What `tollgate check --connect` finds, of real servers. */

const folder = tempFolder()
let ca: Certificate
beforeAll(() => {
  ca = makeCa(folder, 'ca')
})

const answering = (listener: RequestListener): Promise<number> => listening(createServer(listener))
const json = (value: unknown, status = 200): RequestListener => {
  return (_, response) => response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(value))
}

interface Written {
  readonly listen?: string
  readonly upstream?: string
  readonly store?: string
  readonly auth?: string
  /** The issuer of `admin.oidc`. */
  readonly issuer?: string
  readonly telemetry?: string
  readonly decisions?: string
}

/** @returns what is said of each key, such as `failed why` */
async function tried({
  listen = '127.0.0.1:0',
  upstream,
  store = 'sqlite::memory:',
  auth = '{}',
  issuer,
  telemetry,
  decisions,
}: Written) {
  const service = upstream ?? `{ url: "http://127.0.0.1:${await answering(json({}))}" }`
  const oidc = `oidc: { issuer: "${issuer}", client_id: tollgate, client_secret: ${'s'.repeat(32)}, roles: { values: { sre: admin } } }, token: ${'t'.repeat(32)}`
  const text = `listen: ${listen}\nadmin: { listen: 127.0.0.1:0, ${issuer === undefined ? '' : oidc} }\nupstream: ${service}\nstore: "${store}"\nauth: ${auth}\n${telemetry === undefined ? '' : `telemetry: ${telemetry}\n`}${decisions === undefined ? '' : `decisions: { listen: ${decisions} }\n`}`
  const loaded = parseConfig(text, join(folder, 'tollgate.yaml'), {})
  if (!loaded.ok) throw new Error(JSON.stringify(loaded.problems))
  const found = await tryConnections(loaded.config)
  return (place: string): string[] =>
    found.filter(({ path }) => path.join('.') === place).map(({ result, message }) => `${result} ${message}`)
}

describe('check --connect says of a Redis', () => {
  let redis: RedisServer
  let admin: Redis
  beforeAll(async () => {
    redis = await startRedis({ args: ['--requirepass', 'right', '--appendonly', 'yes', '--maxmemory', '100mb'] })
    admin = new Redis(redis.port, '127.0.0.1', { password: 'right' })
    await admin.call('ACL', 'SETUSER', 'mute', 'on', '>mute', '~*', '&*', '+@all', '-evalsha')
    await admin.call('ACL', 'SETUSER', 'dumb', 'on', '>dumb', '~*', '&*', '+@all', '-eval')
    await admin.call('ACL', 'SETUSER', 'reader', 'on', '>reader', '%R~*', '&*', '+@all')
    await admin.call('ACL', 'SETUSER', 'blind', 'on', '>blind', '~*', '&*', '+@all', '-info')
  })
  afterAll(async () => {
    admin.disconnect()
  })

  const storeOf = async (login: string): Promise<string[]> =>
    (await tried({ store: `redis://${login}127.0.0.1:${redis.port}` }))('store')

  test('check --connect says of a Redis that a gateway can work with it, and leaves nothing there', async () => {
    expect(await storeOf(':right@')).toEqual([
      expect.stringMatching(
        /^good Redis \d+\.\d+\.\d+, lets us in, runs the script of charges and takes writes, maxmemory-policy noeviction, clock -?\d+ ms from ours$/,
      ),
    ])
    await sleep(1100)
    expect(await admin.dbsize()).toBe(0)
  })

  test.each([
    [':wrong@', 'Cure: set the user and the password of the URL under store'],
    ['', 'Cure: set the user and the password of the URL under store'],
    ['mute:mute@', 'Cure: let its user run scripts, and every command on the keys of the prefix (ACL SETUSER)'],
    ['dumb:dumb@', 'Cure: let its user run scripts, and every command on the keys of the prefix (ACL SETUSER)'],
    ['reader:reader@', 'Cure: let its user run scripts, and every command on the keys of the prefix (ACL SETUSER)'],
  ])(
    'check --connect says how to let %s into a Redis, where it may not do what a gateway does',
    async (login, cure) => {
      const [message, ...more] = await storeOf(login)
      expect(message).toMatch(/^failed /)
      expect(message).toContain(cure)
      expect(more).toEqual([])
    },
  )

  test('check --connect warns of a Redis that it cannot look at', async () => {
    expect(await storeOf('blind:blind@')).toEqual([
      expect.stringMatching(/^good lets us in, /),
      expect.stringMatching(
        /^warning the version of Redis and its maxmemory-policy cannot be looked at: give the user/,
      ),
    ])
  })

  test('check --connect says of a Redis that it may evict counters', async () => {
    await admin.config('SET', 'maxmemory-policy', 'allkeys-lru')
    try {
      expect(await storeOf(':right@')).toEqual([
        'failed maxmemory-policy is allkeys-lru: Redis may evict counters and forget charges; set it to noeviction',
      ])
    } finally {
      await admin.config('SET', 'maxmemory-policy', 'noeviction')
    }
  })

  test('check --connect warns of a Redis that asks for no password, though the gateway has one', async () => {
    const open = await startRedis({ args: ['--appendonly', 'yes'] })
    const [good, ...warnings] = (await tried({ store: `redis://:some@127.0.0.1:${open.port}` }))('store')
    expect(good).toMatch(/^good Redis /)
    expect(warnings).toContainEqual(expect.stringMatching(/^warning .*password/))
  })

  test('check --connect says of a Redis that is there and silent what to do about it', async () => {
    process.kill(redis.pid, 'SIGSTOP')
    try {
      expect(await storeOf(':right@')).toEqual([
        expect.stringContaining('if it is there it is silent: look at its machine'),
      ])
    } finally {
      process.kill(redis.pid, 'SIGCONT')
    }
  })

  test('check --connect says of a Redis that it is a copy of another one, or not there', async () => {
    await admin.replicaof('127.0.0.1', 1)
    try {
      expect(await storeOf(':right@')).toEqual([
        expect.stringMatching(/^failed READONLY .*Cure: name the primary, or its sentinels, under store$/),
      ])
    } finally {
      await admin.replicaof('NO', 'ONE')
    }
    const nobody = (await tried({ store: 'redis://127.0.0.1:1' }))('store')
    expect(nobody).toEqual([
      expect.stringMatching(/ECONNREFUSED 127\.0\.0\.1:1\. Cure: correct host and port under store/),
    ])
  })
})

describe('check --connect says of those who vouch for callers', () => {
  const keysOf = async (listener: RequestListener, algorithms = '[ES256, RS256]') => {
    const url = `http://127.0.0.1:${await answering(listener)}/keys`
    const found = await tried({
      auth: `{ jwt: [ { issuer: https://id.example.org, audience: a, jwks: "${url}", algorithms: ${algorithms} } ] }`,
    })
    return found('auth.jwt.0.jwks')
  }
  const { publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const set = { keys: [{ ...publicKey.export({ format: 'jwk' }), kid: '1', alg: 'ES256' }] }

  test('check --connect says of those who vouch for callers which algorithms an issuer has keys for', async () => {
    expect(await keysOf(json(set))).toEqual(['good answers 200 with 1 key, for ES256, and none for RS256'])
    expect(await keysOf(json(set), '[RS256]')).toEqual([
      'failed the set has no key for RS256: it has keys for ES256: write those under algorithms',
    ])
    expect(await keysOf(json({ keys: [] }))).toEqual(['failed the set has no key for ES256, RS256: publish one'])
    expect(await keysOf(json({}, 503))).toEqual([expect.stringMatching(/^failed answered 503: write the address/)])
  })

  test('check --connect says of those who vouch for callers whether a provider knows the gateway', async () => {
    const providerOf = async (listener: RequestListener) => {
      const url = `http://127.0.0.1:${await answering(listener)}/introspect`
      const entry = `{ url: "${url}", client_id: gateway, client_secret: secret-of-the-gateway, audience: a }`
      return (await tried({ auth: `{ introspection: [ ${entry} ] }` }))('auth.introspection.0.url')
    }
    expect(await providerOf(json({ active: false }))).toEqual([
      'good knows us, and knows nothing of a made-up credential',
    ])
    expect(await providerOf(json({}, 401))).toEqual([
      expect.stringMatching(/^failed answered 401: it does not know client_id and client_secret, .*: correct url/),
    ])
  })
})

const upstreamOf = async (port: number, more = '') =>
  (await tried({ upstream: `{ url: "https://127.0.0.1:${port}", host: upstream${more} }` }))('upstream.url')

test('check --connect says of the upstream whether its certificate is good for its name', async () => {
  const { cert, key } = makeCertificate(folder, 'service', ca, 'DNS:service.example.org')
  const port = await listening(https.createServer({ cert, key }, json({})))
  const trusting = `, tls: { ca: "${ca.certFile}"`
  expect(await upstreamOf(port)).toEqual([
    expect.stringMatching(/^failed .*certificate.*: name the authority of its certificate in upstream\.tls\.ca/i),
  ])
  expect(await upstreamOf(port, `${trusting} }`)).toEqual([
    expect.stringMatching(/^failed .*not in the cert's list.*upstream\.tls\.server_name$/),
  ])
  expect(await upstreamOf(port, `${trusting}, server_name: service.example.org }`)).toEqual([
    'good takes connections by TLS, with a certificate that is good for its name',
  ])
})

test('check --connect says of the upstream that it speaks no TLS, where the address begins with https', async () => {
  const port = await answering(json({}))
  expect((await tried({ upstream: `{ url: "https://127.0.0.1:${port}" }` }))('upstream.url')).toEqual([
    'failed what listens there speaks no TLS: write http://, or the port on which it speaks TLS',
  ])
})

test('check --connect says of the upstream whether it takes connections', async () => {
  const found = await tried({ upstream: '{ url: "http://127.0.0.1:1" }' })
  expect(found('upstream.url')).toEqual([
    'failed connect ECONNREFUSED 127.0.0.1:1: start the service, or correct its address, and let this machine reach it',
  ])
  expect((await tried({}))('upstream.url')).toEqual(['good takes connections'])
})

test('a port that somebody has is named by check --connect, and a free one stays free', async () => {
  const server = createTcp()
  const taken = await listening(server)
  expect((await tried({ listen: `127.0.0.1:${taken}` }))('listen')).toEqual([
    `failed listen EADDRINUSE: address already in use 127.0.0.1:${taken}: choose an address of this machine whose port is free`,
  ])
  server.close()
  for (let again = 0; again < 2; again++) {
    expect((await tried({ listen: `127.0.0.1:${taken}` }))('listen')).toEqual([`good 127.0.0.1:${taken} is free`])
  }
})

test('check --connect tries where other proxies ask, be it a port or a socket', async () => {
  const path = join(folder, 'decide.sock')
  expect((await tried({ decisions: `"unix:${path}"` }))('decisions.listen')).toEqual([`good ${path} is free`])
  const server = createTcp().listen(path)
  await once(server, 'listening')
  const [said] = (await tried({ decisions: `"unix:${path}"` }))('decisions.listen')
  server.close()
  expect(said).toMatch(/^failed listen EADDRINUSE: .*: name a folder that is there and .* on which nobody listens$/)
  expect((await tried({ decisions: '127.0.0.1:0' }))('decisions.listen')).toEqual(['good 127.0.0.1:0 is free'])
})

describe('check --connect says of the collector', () => {
  const otlp = (port: number): string => `{ otlp: "http://127.0.0.1:${port}", headers: { Authorization: right } }`
  const collector: RequestListener = (request, response) => {
    const isKnown = request.url === '/v1/traces' && request.headers.authorization === 'right'
    request.resume().once('end', () => response.writeHead(isKnown ? 200 : 401).end())
  }

  test('check --connect says of the collector that it takes spans, and nothing where there is none', async () => {
    const found = await tried({ telemetry: otlp(await answering(collector)) })
    expect(found('telemetry.otlp')).toEqual(['good the collector takes spans'])
    expect((await tried({}))('telemetry.otlp')).toEqual([])
  })

  test('check --connect warns of a collector that takes no spans, and says why, since requests are served', async () => {
    const refusing = otlp(await answering(collector)).replace('right', 'wrong')
    const away = createTcp()
    const port = await listening(away)
    away.close()
    const cure = /: correct the address of OTLP over HTTP .*; until then spans are dropped$/
    for (const telemetry of [refusing, otlp(port)]) {
      const [said = ''] = (await tried({ telemetry }))('telemetry.otlp')
      expect(said).toMatch(cure)
      expect(said.startsWith('warning ')).toBe(true)
    }
  })
})

test('the provider at which people sign in is tried, and one that does not respond keeps nobody from starting', async () => {
  const provider = await startPeopleProvider()
  provider.serveFor('http://127.0.0.1:1')
  const good = await tried({ issuer: provider.issuer })
  await provider.close()
  const host = new URL(provider.issuer).host
  expect(good('admin.oidc.issuer')).toEqual([`good ${host} says where people sign in`])
  const [lost] = (await tried({ issuer: provider.issuer }))('admin.oidc.issuer')
  expect(lost).toMatch(
    /^warning The provider localhost:\d+ does not sign anybody in now \(.+\)\. Correct the address, and/,
  )
})
