import { sampleTable } from '../report.ts'
import { jwtOf, userName } from '../requests.ts'
import { measureRounds, type Row, type Sample, type Samples } from '../rows.ts'
import { ISSUERS, type Running } from '../servers.ts'
import { median, ratios } from '../statistics.ts'
import { type Bench, type Group, inShortTurns } from './group.ts'

/** As many as the other rows have. */
const USERS = 1000
const BEARER = 'Authorization: Bearer, a JWT that is remembered'
const ANONYMOUS = 'no credential, the user of an address'

/** One way to say who asks. */
interface Way {
  /** What `auth` has beside the issuers. */
  readonly auth: object
  /** What the request has: a field, and what is added to its path. Each user has a JWT. */
  readonly says: (user: number, jwt: string) => { readonly field: string; readonly query?: string }
}

/** A proxy in front is trusted in all rows, so that the address of each user can be one of its own. */
const WAYS: Readonly<Record<string, Way>> = {
  [BEARER]: { auth: {}, says: (_user, jwt) => ({ field: `Authorization: Bearer ${jwt}` }) },
  'a header, the same JWT': {
    auth: { from: [{ header: 'X-API-Key' }] },
    says: (_user, jwt) => ({ field: `X-API-Key: ${jwt}` }),
  },
  'a cookie, the same JWT': {
    auth: { from: [{ cookie: 'session' }] },
    says: (_user, jwt) => ({ field: `Cookie: session=${jwt}` }),
  },
  'the query, the same JWT': {
    auth: { from: [{ query: 'access_token' }] },
    says: (_user, jwt) => ({ field: 'Accept: */*', query: `?access_token=${jwt}` }),
  },
  'a field of a trusted proxy': {
    auth: { from: [], trusted: { user: 'X-Forwarded-User' } },
    says: (user) => ({ field: `X-Forwarded-User: ${userName(user)}` }),
  },
  'a key that only the upstream checks': {
    auth: { from: [], unverified_keys: { header: 'X-API-Key' } },
    says: (user) => ({ field: `X-API-Key: ${userName(user).repeat(4)}` }),
  },
  [ANONYMOUS]: {
    auth: { from: [], anonymous: { by: 'address' } },
    says: (user) => ({ field: `X-Forwarded-For: 10.0.${user >> 8}.${user & 255}` }),
  },
}

const FORGED = 'a secret of somebody else, who is not known to the gateway'
const many = Object.fromEntries(Array.from({ length: 640 }, (_, i) => [`c${i}`, 1]))

/** Each from another of a thousand addresses: one address alone has few checks for nothing. Large ones cost the most. */
const REFUSED: Readonly<Record<string, (user: number) => string>> = {
  '401, an access key that is made up': (user) => `gw_${userName(user).repeat(4)}`,
  '401, a small JWT that is forged': (user) => jwtOf(userName(user), {}, FORGED),
  '401, a JWT of 8 KiB that is forged, of one long claim': (user) =>
    jwtOf(userName(user), { long: 'x'.repeat(5600) }, FORGED),
  '401, a JWT of 8 KiB that is forged, of 640 claims': (user) => jwtOf(userName(user), many, FORGED),
}

/** The same charge by callers who are told by different things, and refusals of those whose credential is not good. */
export const callers: Group = async (bench) => {
  const rows = new Map<string, Row>()
  for (const [name, way] of Object.entries(WAYS)) rows.set(name, await rowOf(bench, name, way))
  for (const [name, credential] of Object.entries(REFUSED)) rows.set(name, await refusedRow(bench, name, credential))
  const turns = inShortTurns(bench)
  const samples = await measureRounds([...rows.values()], turns)
  const dearest = Object.keys(REFUSED).reduce((a, b) => (cpuOf(samples, rows, a) > cpuOf(samples, rows, b) ? a : b))
  const of = (name: string): readonly Sample[] => samples.get(rows.get(name) as Row) ?? []
  return {
    title: 'Who asks',
    lines: [
      `An accepted charge, access log off; CPU for one request, in microseconds, ${turns.rounds} rounds of ${turns.seconds} s:`,
      '',
      ...sampleTable(samples),
    ],
    figures: [
      {
        name: 'a caller told by the address against one told by a JWT that is remembered, CPU of the gateway',
        unit: 'x',
        values: ratios(of(ANONYMOUS), of(BEARER), ({ proxy }) => proxy),
        target: { atMost: 1 },
      },
      {
        name: `the dearest 401 (${dearest.slice('401, '.length)}) against an accepted charge, CPU of the gateway`,
        unit: 'x',
        values: ratios(of(dearest), of(BEARER), ({ proxy }) => proxy),
        target: { atMost: 2 },
      },
    ],
  }
}

function cpuOf(samples: Samples, rows: ReadonlyMap<string, Row>, name: string): number {
  return median((samples.get(rows.get(name) as Row) ?? []).map(({ proxy }) => proxy))
}

async function refusedRow(bench: Bench, name: string, credential: (user: number) => string): Promise<Row> {
  const says = (user: number) => ({
    field: `X-Forwarded-For: 10.0.${user >> 8}.${user & 255} | Authorization: Bearer ${credential(user)}`,
  })
  return { ...(await rowOf(bench, name, { auth: {}, says })), refused: true }
}

async function rowOf({ stage, requests }: Bench, name: string, { auth, says }: Way): Promise<Row> {
  const [redis, upstream] = [await stage.redis(), await stage.upstream()]
  const server: Running = await stage.gateway({
    upstream,
    store: redis,
    log: false,
    change: {
      auth: { jwt: ISSUERS, ...auth },
      edge: {
        trusted_proxies: ['127.0.0.0/8'],
        max_connections_per_address: 'none',
        shares: { address: 'none' },
      },
    },
  })
  const list = requests.credentials(USERS).map((jwt, user) => {
    const { field, query = '' } = says(user, jwt)
    return { path: `/read${query}`, credential: field }
  })
  return { name, server, redis, load: { port: server.port, requests: requests.of(list) } }
}
