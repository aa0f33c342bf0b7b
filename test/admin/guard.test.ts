import { expect, test } from 'vitest'
import { createGuard } from '../../src/admin/guard.ts'
import { Login } from '../../src/admin/login.ts'

const TOKEN = 'admin-token-of-the-tests'
const SAID = { 'x-tollgate-drain': 'yes' }

/** What becomes of a request that only this machine, or an administrator, may make. */
function judge(address: string, headers: Record<string, string>, hasTokens = true): unknown {
  const tokens = hasTokens ? [{ name: 'ops', role: 'admin', token: TOKEN } as const] : []
  const credentials = () => tokens
  const now = (): number => 0
  const check = createGuard({ login: new Login({ credentials, now }), credentials, names: [], now })
  const guarded = check('machine', { method: 'POST', headers: { host: 'localhost', ...headers }, address })
  return 'status' in guarded ? guarded.status : guarded.identity
}

test.each(['127.0.0.1', '::1', '::ffff:127.0.0.1'])(
  '%s is this machine, which needs no token but the field that says what it wants',
  (address) => {
    expect(judge(address, SAID)).toBeNull()
    expect(judge(address, SAID, false)).toBeNull()
    expect(judge(address, {})).toBe(401)
  },
)

test.each([
  '127.0.0.6',
  '::ffff:127.0.0.6',
  '10.0.0.7',
  '::ffff:10.0.0.7',
  '192.0.2.1',
  'fe80::1',
  '::127.0.0.1',
  '128.0.0.1',
  '',
])('%s is another machine or what forwards for others, and needs the admin token', (address) => {
  expect(judge(address, SAID)).toBe(401)
  expect(judge(address, SAID, false)).toBe(403)
  expect(judge(address, { authorization: `Bearer ${TOKEN}` })).toMatchObject({ name: 'ops' })
})
