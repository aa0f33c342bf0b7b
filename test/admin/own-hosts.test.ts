import { expect, test } from 'vitest'
import { isOurHost } from '../../src/admin/own-hosts.ts'

test.each([
  'localhost',
  'localhost:80',
  'a.localhost',
  'localhost.',
  '127.0.0.1',
  '[::1]',
  '[fe80::1]:9090',
  '[FE80::1]',
  'ops.example',
  'OPS.example:1',
])('%s is a host of ours', (host) => expect(isOurHost(host, ['ops.example'])).toBe(true))

test.each([
  undefined,
  '',
  'evil.example',
  'notlocalhost',
  'localhost.evil.example',
  '127.0.0.1.evil.example',
  'localhost@evil.example',
  'evil.example:localhost',
  'localhost/evil.example',
  'evil.example/a.localhost',
  'evil.example a.localhost',
  '[::1].evil.example',
  'x.ops.example',
])('%s is no host of ours', (host) => expect(isOurHost(host, ['ops.example'])).toBe(false))
