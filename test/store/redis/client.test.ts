import { describe, expect, it } from 'vitest'
import { parseUrl } from '../../../src/store/redis/client.ts'

describe('the URL of a store', () => {
  it('the URL of a store with one host says its port and its database', () => {
    expect(parseUrl('redis://localhost')).toEqual({
      kind: 'single',
      encrypted: false,
      address: { host: 'localhost', port: 6379, database: 0 },
    })
    expect(parseUrl('rediss://user:pass@[::1]:6380/2')).toEqual({
      kind: 'single',
      encrypted: true,
      username: 'user',
      password: 'pass',
      address: { host: '::1', port: 6380, database: 2 },
    })
  })

  it('the URL of a store may name a Unix socket', () => {
    expect(parseUrl('redis+unix://:p%40ss@/run/my%20redis.sock')).toEqual({
      kind: 'single',
      encrypted: false,
      password: 'p@ss',
      address: { path: '/run/my redis.sock', database: 0 },
    })
  })

  it('the URL of a store may say valkey for redis', () => {
    for (const rest of ['://a:1/2', 's://a', '+sentinel://a,b/quota', 's+cluster://a', '+unix:///run/a']) {
      expect(parseUrl(`valkey${rest}`)).toEqual(parseUrl(`redis${rest}`))
    }
  })

  it('the URL of a store with sentinels names the primary they watch', () => {
    expect(parseUrl('redis+sentinel://a:1,b/quota')).toEqual({
      kind: 'sentinel',
      encrypted: false,
      hosts: [
        { host: 'a', port: 1 },
        { host: 'b', port: 26379 },
      ],
      name: 'quota',
    })
  })

  it('the URL of a store with a cluster names some of its hosts, also by IPv6', () => {
    expect(parseUrl('redis+cluster://[::1]:7000,10.0.0.2')).toEqual({
      kind: 'cluster',
      encrypted: false,
      hosts: [
        { host: '::1', port: 7000 },
        { host: '10.0.0.2', port: 6379 },
      ],
    })
  })

  it('the URL of a store may carry a user and a password with any characters, percent-encoded', () => {
    expect(parseUrl('redis+sentinel://me:p%40ss%2F%3A@a/quota')).toMatchObject({ username: 'me', password: 'p@ss/:' })
    expect(parseUrl('redis+cluster://:secret@a')).toMatchObject({ kind: 'cluster', password: 'secret' })
    expect(parseUrl('redis+cluster://:secret@a')).not.toHaveProperty('username')
  })
})
