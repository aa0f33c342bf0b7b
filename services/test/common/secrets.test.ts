import { describe, expect, it } from 'vitest'
import { secretCheck } from '../../common/secrets.ts'

describe('secretCheck', () => {
  const check = secretCheck('the-secret')

  it('secretCheck accepts the secret and nothing else', () => {
    expect(check('the-secret')).toBe(true)
    for (const sent of [undefined, '', 'the-secre', 'the-secret ', 'The-secret', ['the-secret']]) {
      expect(check(sent)).toBe(false)
    }
  })
})
