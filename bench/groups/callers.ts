import { sampleTable } from '../report.ts'
import { jwtOf, userName } from '../requests.ts'
import { measureRounds, type Row, rowOf } from '../rows.ts'
import { median, ratios } from '../statistics.ts'
import { type Group, inShortTurns } from './group.ts'

/** As many users as in the rows of the other groups. */
const USERS = 1000
const ACCEPTED = 'an accepted charge, a JWT that is remembered'

const FORGED = 'a secret of somebody else, who is not known to the gateway'
const many = Object.fromEntries(Array.from({ length: 640 }, (_, i) => [`c${i}`, 1]))

/** Refused credentials. Each user has its own address, since one address may have few failed checks. */
const REFUSED: Readonly<Record<string, (user: number) => string>> = {
  '401, an access key that is made up': (user) => `gw_${userName(user).repeat(4)}`,
  '401, a small JWT that is forged': (user) => jwtOf(userName(user), {}, FORGED),
  '401, a JWT of 8 KiB that is forged, of one long claim': (user) =>
    jwtOf(userName(user), { long: 'x'.repeat(5600) }, FORGED),
  '401, a JWT of 8 KiB that is forged, of 640 claims': (user) => jwtOf(userName(user), many, FORGED),
}

/** Refusals of callers with an invalid credential, compared with a charge. */
export const callers: Group = async (bench) => {
  const [redis, upstream] = [await bench.stage.redis(), await bench.stage.upstream()]
  const row = async (name: string, jwtAt: (user: number) => string, refused: boolean): Promise<Row> => {
    const server = await bench.stage.gateway({ upstream, store: redis, change: { edge: EDGE } })
    const list = Array.from({ length: USERS }, (_, user) => ({ path: '/read', credential: fieldOf(user, jwtAt(user)) }))
    return rowOf(name, server, bench.requests.of(list), { redis, refused })
  }
  const known = bench.requests.credentials(USERS)
  const accepted = await row(ACCEPTED, (user) => known[user] ?? '', false)
  const rows: Row[] = []
  for (const [name, jwtAt] of Object.entries(REFUSED)) rows.push(await row(name, jwtAt, true))
  const turns = inShortTurns(bench)
  const samples = await measureRounds([accepted, ...rows], turns)
  const cpuOf = (one: Row): number => median((samples.get(one) ?? []).map(({ proxy }) => proxy))
  const dearest = rows.reduce((a, b) => (cpuOf(a) > cpuOf(b) ? a : b))
  return {
    title: 'Credentials that are refused',
    intro: `Access log off; CPU for one request, in microseconds, ${turns.rounds} rounds of ${turns.seconds} s:`,
    lines: sampleTable(samples),
    figures: [
      {
        name: `the dearest 401 (${dearest.name.slice('401, '.length)}) against an accepted charge, CPU of the gateway`,
        unit: 'x',
        values: ratios(samples.get(dearest) ?? [], samples.get(accepted) ?? [], ({ proxy }) => proxy),
        target: { atMost: 2 },
      },
    ],
  }
}

/** A trusted proxy stands in front, so that each user can have its own address. */
const EDGE = { trusted_proxies: ['127.0.0.0/8'], max_connections_per_address: 'none', shares: { address: 'none' } }

function fieldOf(user: number, credential: string): string {
  return `X-Forwarded-For: 10.0.${user >> 8}.${user & 255} | Authorization: Bearer ${credential}`
}
