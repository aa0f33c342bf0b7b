import { type Role, roleOf } from '../../control/role.ts'
import { didYouMean } from '../../lib/suggest.ts'
import { parseOpenidIssuer, parseSubnet } from '../addresses.ts'
import { callerHeaderProblem } from '../headers.ts'
import type { Reading } from '../units.ts'
import { domain } from './domain.ts'
import { byName, duration, list, read, section, text } from './values.ts'

/** People who sign in to the dashboard: by a provider, or through a proxy. */

const CLAIM = 'By path, like realm_access.roles; at each level the longest name that fits counts'

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
).describe('The role that each group gives. Whoever is in several has the first of admin, viewer and lead')

export const oidc = domain(
  section(
    {
      issuer: read('an https URL', parseOpenidIssuer).describe(
        'The provider: the URL before /.well-known/openid-configuration',
      ),
      client_id: text({ max: 256 }).describe('The name of the gateway at the provider'),
      client_secret: text({ max: 1024, what: 'a secret of 16 to 1024 characters' })
        .min(16, { error: 'has less than 16 characters, which may be guessed: let the provider make a longer one' })
        .describe(
          'The secret of the gateway at the provider, 16 to 1024 characters. Sessions of people end when it is replaced',
        ),
      scope: text({ max: 512, what: 'scopes, like openid profile email groups' })
        .regex(/(?:^| )openid(?: |$)/, { error: 'lacks openid: write openid profile email' })
        .default('openid profile email')
        .describe(
          'The scopes that the gateway asks the provider for, among them the one of the groups if the provider has one. Default openid profile email',
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
        'Which group of the provider has which role here',
        'a map like { claim: groups, values: { sre: admin, support: viewer } }',
      ),
      session: duration('5m', '12h')
        .prefault('1h')
        .describe(
          'How long a session is. Then the provider is asked again, so whoever has lost a group is out. 5m to 12h. Default 1h',
        ),
    },
    'A provider of OpenID Connect, where people sign in to the dashboard',
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
      name: field('The field that names the person, like X-Forwarded-Email'),
      groups: field('The field of the groups, with commas between them, like X-Forwarded-Groups'),
      roles,
      from: list(
        read('an address or a network like 10.0.0.0/8', parseSubnet).describe('An address or a network'),
        1,
        100,
      ).describe('Addresses of the proxy. Of anybody else the fields are ignored'),
    },
    'A proxy in front of the dashboard that signs people in, as oauth2-proxy does',
    'a map like { name: X-Forwarded-Email, groups: X-Forwarded-Groups, roles: { sre: admin }, from: [10.0.0.7] }',
  ),
  {},
)
