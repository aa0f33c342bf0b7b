import { type Role, roleOf } from '../../control/role.ts'
import { didYouMean } from '../../lib/suggest.ts'
import { parseOpenidIssuer, parseSubnet } from '../addresses.ts'
import { callerHeaderProblem } from '../headers.ts'
import type { Reading } from '../units.ts'
import { domain } from './domain.ts'
import { byName, duration, list, or, read, section, text } from './values.ts'

/** People who sign in to the dashboard, by a provider or through a proxy. */

const CLAIM =
  'A claim inside another one is written as a path, like realm_access.roles. If a name itself contains a dot, the longest name that fits counts'

const group = text({ max: 256, what: 'a group' }).describe('A group')

export function role(description: string) {
  return read('a role', parseRole, '^(admin|viewer|lead:.+)$').describe(description)
}

function parseRole(text: string): Reading<Role> {
  const known = roleOf(text)
  if (known !== null) return { value: known }
  const near = didYouMean(text, ['admin', 'viewer', 'lead:']) || '; there are admin, viewer and lead:ORGANISATION'
  return { problem: `is no role${near}` }
}

const roles = byName(
  role('viewer looks at everything and changes nothing; lead:acme sees and divides what the organisation acme has'),
  'roles by group, like { sre: admin, support: viewer }',
  group,
).describe('The role of each group. A person in several groups gets admin before viewer, and viewer before lead')

export const oidc = domain(
  section(
    {
      issuer: read('an https URL', parseOpenidIssuer).describe(
        'The address of the provider. It is the part of the URL before /.well-known/openid-configuration',
      ),
      client_id: text({ max: 256 }).describe('The client id with which the gateway is registered at the provider'),
      client_secret: text({ max: 1024, what: 'a secret of 16 to 1024 characters' })
        .min(16, { error: 'has less than 16 characters, which may be guessed: let the provider make a longer one' })
        .describe(
          'The client secret with which the gateway is registered at the provider. If you replace it, all sessions of people end. 16 to 1024 characters',
        ),
      scope: text({ max: 512, what: 'scopes, like openid profile email groups' })
        .regex(/(?:^| )openid(?: |$)/, { error: 'lacks openid: write openid profile email' })
        .default('openid profile email')
        .describe(
          'The scopes that the gateway asks the provider for. If the provider has a scope for groups, add it. Default openid profile email',
        ),
      name_claim: text({ max: 256 })
        .default('email')
        .describe(`The claim that the audit names a person by. ${CLAIM}. Default email`),
      roles: section(
        {
          claim: text({ max: 256 })
            .default('groups')
            .describe(`The claim of the groups: a text or a list. ${CLAIM}. Default groups`),
          values: roles,
        },
        'Which role the groups of a person at the provider give',
        'a map like { claim: groups, values: { sre: admin, support: viewer } }',
      ),
      session: or(duration('5m', '12h'), '1h').describe(
        'How long a session lasts. After that the gateway asks the provider again, so a person who has left a group loses access',
      ),
    },
    'An OpenID Connect provider with which people sign in to the dashboard',
    'a map like { issuer: https://id.example.org, client_id: tollgate, client_secret: …, roles: { values: { sre: admin } } }',
  ),
  { session: 'sessionMs' },
)

const field = (description: string) =>
  read('a header name', (name): Reading<string> => {
    if (/^cookie$/i.test(name)) return { problem: 'is the field of cookies: name one that the proxy sets' }
    const problem = callerHeaderProblem(name)
    return problem === null ? { value: name.toLowerCase() } : { problem }
  }).describe(description)

export const trusted = domain(
  section(
    {
      name: field('The header that names the person, like X-Forwarded-Email'),
      groups: field('The header that lists the groups, with commas between them, like X-Forwarded-Groups'),
      roles,
      from: list(
        read('an address or a network like 10.0.0.0/8', parseSubnet).describe('An address or a network'),
        1,
        100,
      ).describe('The addresses of the proxy. If a request comes from any other address, the two headers are ignored'),
    },
    'A proxy in front of the dashboard that signs people in, such as oauth2-proxy',
    'a map like { name: X-Forwarded-Email, groups: X-Forwarded-Groups, roles: { sre: admin }, from: [10.0.0.7] }',
  ),
  {},
)
