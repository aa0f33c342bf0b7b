import { afterEach, expect, it, vi } from 'vitest'
import { addressIn, originsOf } from '../../demo/addresses.ts'

afterEach(() => vi.unstubAllEnvs())

it('the address of a service is that of the variable, or the usual one', () => {
  expect(addressIn('SYNC_LISTEN', '127.0.0.1:9001')).toEqual({ host: '127.0.0.1', port: 9001 })
  vi.stubEnv('SYNC_LISTEN', '[::1]:7000')
  expect(addressIn('SYNC_LISTEN', '127.0.0.1:9001')).toEqual({ host: '::1', port: 7000 })
})

it.each(['9001', '127.0.0.1', 'garbage', '127.0.0.1:99999', ''])(
  'the address of a service is not "%s", which gets an error with its cure',
  (text) => {
    vi.stubEnv('SYNC_LISTEN', text)
    expect(() => addressIn('SYNC_LISTEN', '127.0.0.1:9001')).toThrow(
      `SYNC_LISTEN: "${text}" is not HOST:PORT: write it like 127.0.0.1:9001`,
    )
  },
)

it.each([
  ['127.0.0.1:8080', ['http://localhost:8080', 'http://127.0.0.1:8080']],
  ['localhost:8080', ['http://localhost:8080']],
  ['[::1]:8080', ['http://localhost:8080', 'http://[::1]:8080']],
  // Browsers leave the usual port out.
  ['127.0.0.1:80', ['http://localhost', 'http://127.0.0.1']],
  ['0.0.0.0:8080', ['http://localhost:8080', 'http://0.0.0.0:8080', 'http://127.0.0.1:8080', 'http://[::1]:8080']],
  ['[::]:8080', ['http://localhost:8080', 'http://[::]:8080', 'http://127.0.0.1:8080', 'http://[::1]:8080']],
  ['9000', []],
])('the origins of pages of a gateway are known for the address %s', (listen, origins) => {
  expect(originsOf(listen)).toEqual(origins)
})
