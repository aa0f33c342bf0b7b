import { expect, test } from 'vitest'
import { startPeopleProvider } from '../admin/people-provider.ts'
import { startApp, yaml } from '../e2e/harness.ts'
import { packagesOf } from '../setup/packages.ts'

test.each(['src/app/app.ts', 'src/admin/listener.ts'])(
  '%s loads no client of OpenID Connect before somebody signs in by a provider',
  (file) => {
    const loaded = packagesOf(file)
    expect(loaded).not.toContain('openid-client')
    expect(loaded).not.toContain('oauth4webapi')
  },
)

test('a reload takes over another provider, other roles and another proxy, without a restart', async () => {
  const provider = await startPeopleProvider()
  const withAdmin = (more: string) => yaml('http://127.0.0.1:1', '').replace('admin: { ', `admin: { ${more} `)
  const app = await startApp(withAdmin(''))
  provider.serveFor(app.admin)
  const providerOf = async () =>
    ((await (await fetch(`${app.admin}/api/session`)).json()) as { provider?: string }).provider
  const whoIs = async () => {
    const headers = { 'x-user': 'ann', 'x-teams': 'sre' }
    return ((await (await fetch(`${app.admin}/api/session`, { headers })).json()) as { name: string | null }).name
  }
  expect([await providerOf(), await whoIs()]).toEqual([undefined, null])
  const oidc = `oidc: { issuer: "${provider.issuer}", client_id: tollgate, client_secret: ${'s'.repeat(32)}, roles: { values: { sre: admin } } },`
  const trusted = 'trusted: { name: X-User, groups: X-Teams, roles: { sre: viewer }, from: [127.0.0.1] },'
  await app.reload(withAdmin(oidc + trusted))
  expect([await providerOf(), await whoIs()]).toEqual([new URL(provider.issuer).host, 'ann'])
  const warnings = app.observations.filter(({ type }) => type === 'config_warning')
  expect(warnings).toEqual([])
  await app.reload(withAdmin(''))
  expect([await providerOf(), await whoIs()]).toEqual([undefined, null])
})
