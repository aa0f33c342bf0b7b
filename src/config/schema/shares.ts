import { z } from 'zod'
import type { Part } from '../config.ts'
import { PERCENTAGE, parsePercentage } from '../units.ts'
import { integer, read, section } from './values.ts'

/** What one address and one user may hold of what is scarce. */

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

export const shares = section(
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
