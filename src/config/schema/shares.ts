import { z } from 'zod'
import { PERCENTAGE, parsePercentage } from '../units.ts'
import { integer, read, section } from './values.ts'

/** How much one address, one user, and all callers without an accepted credential may hold of each resource. */

/** A number, a part of the total (above 0, up to 1), or `null` for any number. */
type Part = { most: number } | { part: number } | null

const WANTED = 'a percentage like 50%, an integer from 1 to 1000000, or none'

const part = (description: string) =>
  z
    .union(
      [
        z.literal('none').transform((): Part => null),
        integer(1, 1_000_000)
          .transform((most): Part => ({ most }))
          .describe('So many'),
        read(WANTED, parsePercentage, PERCENTAGE.source)
          .transform((part): Part => ({ part }))
          .describe('A part of the total'),
      ],
      { error: `expected ${WANTED}` },
    )
    .describe(description)

const ofAddress = part('How many of these one IPv4 address or IPv6 /64 may have. Default shares.address').optional()
const ofStrangers = part(
  'How many of these all clients without an accepted credential may have together. Default shares.strangers',
).optional()

const ofThing = (what: string, total: string) =>
  section(
    {
      address: ofAddress,
      user: part('How many of these one user may have. Default shares.user').optional(),
      strangers: ofStrangers,
    },
    `${what}. A percentage is a part of ${total}`,
  ).prefault({})

const parts = section(
  {
    address: part(
      'How much one IPv4 address or IPv6 /64 may have of each thing below, as a percentage of the total, as a number, or none for no such bound. If a proxy in trusted_proxies sent the request, the address that it names counts. Default 50%',
    ).prefault('50%'),
    user: part('How much one user may have of each thing below. Default 50%').prefault('50%'),
    strangers: part(
      'How much all strangers together may have of each thing below, so that your users still get through if many strangers call. A stranger is a caller without an accepted credential: a caller who is counted by address or by an unverified key, or who uses a public route. Default 50%, and none if no credential is ever accepted',
    ).prefault('50%'),
    connections: section(
      { strangers: ofStrangers },
      'Connections of clients. A percentage is a part of edge.max_connections. When strangers have more than their share, a new connection closes an idle one of a stranger',
    ).prefault({}),
    requests: ofThing('Requests under way', 'edge.max_in_flight'),
    bodies: ofThing('Requests whose body has not yet arrived completely', 'edge.max_in_flight'),
    upstream_connections: ofThing('Requests that the upstream is working on', 'upstream.max_connections'),
    tunnels: section(
      {
        address: ofAddress,
        user: part('How many of these one user may have. Default 100').prefault(100),
        strangers: ofStrangers,
      },
      'Open WebSockets. A percentage is a part of edge.max_tunnels',
    ).prefault({}),
    checks: section(
      { address: ofAddress, strangers: ofStrangers },
      'Checks of signatures that take long (ES384, ES512, and RSA of more than 4096 bits). A percentage is a part of 256',
    ).prefault({}),
    usage: section(
      {
        address: ofAddress,
        user: part('How many of these one user may have. Default 4').prefault(4),
        strangers: ofStrangers,
      },
      'Requests of GET /me/usage. A percentage is a part of 64, in each worker',
    ).prefault({}),
  },
  'How much of the gateway one address, one user, and all strangers together may occupy, so that the others still get through. A request above the bound of an address or a user gets 429, and above the bound of the strangers 503. The bound of an address is checked before the credential',
)

/** For each resource the shares of one address, one user and all strangers. `checks` happen before the user is known. */
export const shares = parts.transform(({ address, user, strangers, ...things }) => {
  const of = (thing: keyof typeof things) => ({ address, user, strangers, ...written(things[thing]) })
  return {
    connections: { strangers, ...written(things.connections) },
    requests: of('requests'),
    bodies: of('bodies'),
    upstreamConnections: of('upstream_connections'),
    tunnels: of('tunnels'),
    checks: { address, strangers, ...written(things.checks) },
    usage: of('usage'),
  }
})

/** The parts that the file has. A part that is `null` stays, because it means any number. */
function written<T extends object>(parts: T): { [K in keyof T]?: Exclude<T[K], undefined> } {
  return Object.fromEntries(Object.entries(parts).filter(([, part]) => part !== undefined)) as never
}
