import { describe, expect, it } from 'vitest'
import { hidePath } from '../../src/webhook/hide-path.ts'

const of = (url: string) => new URL(url, 'https://hooks.example.org')

describe('the path of a receiver', () => {
  it.each([
    ['/services/T0/B0/XXXX', 'no route /services/T0/B0/XXXX', 'no route [hidden]'],
    ['/services/T0/B0/XXXX', 'no hook xxxx of services', 'no hook [hidden] of [hidden]'],
    ['/a%20key%2F1', 'unknown: a key/1', 'unknown: [hidden]'],
    ['/a+b(c*', 'unknown: /A+B(C*', 'unknown: [hidden]'],
    ['/x?token=s3cret&to=ops', 'token=s3cret&amp;to=ops', '[hidden]=[hidden]&amp;to=ops'],
    ['/%zz/%E4', '/%zz/%E4', '[hidden]'],
    ['/', 'down/up', 'down/up'],
  ])('%s is hidden in: %s', (url, text, hidden) => {
    expect(hidePath(text, of(url))).toBe(hidden)
  })
})
