import { describe, expect, test } from 'vitest'
import { visible } from '../../src/dashboard/logic/visible.ts'

describe('a name as it is shown', () => {
  test.each(['alice', 'https://id.example.org/accounts/1', '小明', 'a b c', 'né Ж ا', '🦊', '<b>&amp;</b>'])(
    'a name as it is shown is %s itself',
    (name) => {
      expect(visible(name)).toBe(name)
    },
  )

  test.each([
    ['\u202eecila', '⟨U+202E⟩ecila'],
    ['ali\u200bce', 'ali⟨U+200B⟩ce'],
    ['alice\u2060', 'alice⟨U+2060⟩'],
    ['alice\u{e0041}', 'alice⟨U+E0041⟩'],
    ['a\u00a0b', 'a⟨U+00A0⟩b'],
    ['a\u3164b', 'a⟨U+3164⟩b'],
    ['a  b', 'a ⟨U+0020⟩b'],
    [' a ', '⟨U+0020⟩a⟨U+0020⟩'],
  ])('a name as it is shown has what cannot be seen in %j', (name, shown) => {
    expect(visible(name)).toBe(shown)
  })
})
