import { describe, expect, it } from 'vitest'
import { parseUrl } from '../../../src/store/redis/client.ts'

describe('the URL of a store', () => {
  it('with one host is left to ioredis', () => {
    for (const url of ['redis://localhost', 'rediss://user:pass@[::1]:6380/2'])
      expect(parseUrl(url)).toEqual({ kind: 'single', url })
  })

  it('with sentinels names the primary they watch', () => {
    expect(parseUrl('redis+sentinel://a:1,b/quota')).toEqual({
      kind: 'sentinel',
      hosts: [
        { host: 'a', port: 1 },
        { host: 'b', port: 26379 },
      ],
      name: 'quota',
    })
  })

  it('with a cluster names some of its hosts, also by IPv6', () => {
    expect(parseUrl('redis+cluster://[::1]:7000,10.0.0.2')).toEqual({
      kind: 'cluster',
      hosts: [
        { host: '::1', port: 7000 },
        { host: '10.0.0.2', port: 6379 },
      ],
    })
  })

  it('may carry a user and a password with any characters, percent-encoded', () => {
    expect(parseUrl('redis+sentinel://me:p%40ss%2F%3A@a/quota')).toMatchObject({ username: 'me', password: 'p@ss/:' })
    expect(parseUrl('redis+cluster://:secret@a')).toMatchObject({ kind: 'cluster', password: 'secret' })
    expect(parseUrl('redis+cluster://:secret@a')).not.toHaveProperty('username')
  })
})
