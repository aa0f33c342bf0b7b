import { z } from 'zod'
import { PERCENTAGE, parsePercentage } from '../units.ts'
import { integer, read, section } from './values.ts'

/** What one address, one user, and all who have no accepted credential may hold of what is scarce. */

/** So many, a part of the total (above 0, up to 1), or `null` for any number. */
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

const ofAddress = part('What one IPv4 address or IPv6 /64 may hold of this. Default shares.address').optional()
const ofStrangers = part(
  'What all clients without an accepted credential may hold of this together. Default shares.strangers',
).optional()

const ofThing = (what: string, total: string) =>
  section(
    {
      address: ofAddress,
      user: part('What one user may hold of this. Default shares.user').optional(),
      strangers: ofStrangers,
    },
    `${what}; a percentage is one of ${total}`,
  ).prefault({})

const parts = section(
  {
    address: part(
      'Of each thing below, what one IPv4 address or IPv6 /64 may hold: a percentage of the total, a number, or none for all of it. Behind trusted_proxies the address that they name counts. Default 50%',
    ).prefault('50%'),
    user: part('The same for one user: of each thing below what one user may hold. Default 50%').prefault('50%'),
    strangers: part(
      'The same for all strangers together, whose credential was not accepted, or who have none, from however many addresses: callers by address and with unverified keys, and whoever asks for a public route. Default 50%, and none where no credential is ever accepted',
    ).prefault('50%'),
    connections: section(
      { strangers: ofStrangers },
      'Client connections; a percentage is one of edge.max_connections. Above their share the connections of strangers that wait are closed when another one comes',
    ).prefault({}),
    requests: ofThing('Requests under way', 'edge.max_in_flight'),
    bodies: ofThing('Requests whose body is awaited', 'edge.max_in_flight'),
    upstream_connections: ofThing('Requests at the upstream', 'upstream.max_connections'),
    tunnels: section(
      {
        address: ofAddress,
        user: part('What one user may hold of this. Default 100').prefault(100),
        strangers: ofStrangers,
      },
      'WebSockets open; a percentage is one of edge.max_tunnels',
    ).prefault({}),
    checks: section(
      { address: ofAddress, strangers: ofStrangers },
      'Checks of signatures that take long (ES384, ES512, RSA of more than 4096 bits); a percentage is one of 256',
    ).prefault({}),
    usage: section(
      {
        address: ofAddress,
        user: part('What one user may hold of this. Default 4').prefault(4),
        strangers: ofStrangers,
      },
      'Requests of GET /me/usage; a percentage is one of 64, in each worker',
    ).prefault({}),
  },
  'What one address, before its credential is looked at, one user, and all strangers together may hold of what all share; address and user get 429 above it, strangers 503',
)

/** Of each thing, what one address, one user and all strangers may hold. `checks` come before anybody knows the user. */
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

/** `null` is a value of its own here. */
function written<T extends object>(parts: T): { [K in keyof T]?: Exclude<T[K], undefined> } {
  return Object.fromEntries(Object.entries(parts).filter(([, part]) => part !== undefined)) as never
}
