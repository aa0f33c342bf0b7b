import { z } from 'zod'
import { PERCENTAGE, parsePercentage } from '../units.ts'
import { integer, read, section } from './values.ts'

/** What one address and one user may hold of what is scarce. */

/** So many, a part of the total (above 0, up to 1), or `null` for any number. */
type Part = { most: number } | { part: number } | null

const WANTED = 'a percentage like 50%, an integer from 1 to 1000000, or none'

const part = (description: string) =>
  z
    .union(
      [
        z.literal('none').transform((): Part => null),
        integer(1, 1_000_000, { description: 'So many' }).transform((most): Part => ({ most })),
        read(WANTED, parsePercentage, { description: 'A part of the total', pattern: PERCENTAGE.source }).transform(
          (part): Part => ({ part }),
        ),
      ],
      { error: `expected ${WANTED}` },
    )
    .meta({ description })

const ofThing = (what: string, total: string) =>
  section(
    {
      address: part('Of one IPv4 address or IPv6 /64. Default shares.address').optional(),
      user: part('Of one user. Default shares.user').optional(),
    },
    `${what}; a percentage is one of ${total}`,
  ).prefault({})

const parts = section(
  {
    address: part(
      'Of each thing below, what one IPv4 address or IPv6 /64 may hold: a percentage of the total, a number, or none for all of it. Behind trusted_proxies the address that they name counts. Default 50%',
    ).prefault('50%'),
    user: part('The same of one user. Default 50%').prefault('50%'),
    requests: ofThing('Requests under way', 'edge.max_in_flight'),
    bodies: ofThing('Requests whose body is awaited', 'edge.max_in_flight'),
    upstream_connections: ofThing('Requests at the backend', 'upstream.max_connections'),
    tunnels: section(
      {
        address: part('Of one IPv4 address or IPv6 /64. Default shares.address').optional(),
        user: part('Of one user. Default 100').prefault(100),
      },
      'WebSockets open; a percentage is one of edge.max_tunnels',
    ).prefault({}),
    checks: section(
      { address: part('Of one IPv4 address or IPv6 /64. Default shares.address').optional() },
      'Checks of signatures that take long (ES384, ES512, RSA of more than 4096 bits); a percentage is one of 256',
    ).prefault({}),
  },
  'What one address, before its credential is looked at, and one user may hold of what all share; those above get 429',
)

/** Of each thing, what one address and one user may hold. `checks` come before anybody knows the user. */
export const shares = parts.transform(({ address, user, ...things }) => {
  const of = (thing: keyof typeof things) => ({ address, user, ...written(things[thing]) })
  return {
    requests: of('requests'),
    bodies: of('bodies'),
    upstreamConnections: of('upstream_connections'),
    tunnels: of('tunnels'),
    checks: { address, ...written(things.checks) },
  }
})

/** `null` is a value of its own here. */
function written<T extends object>(parts: T): { [K in keyof T]?: Exclude<T[K], undefined> } {
  return Object.fromEntries(Object.entries(parts).filter(([, part]) => part !== undefined)) as never
}
