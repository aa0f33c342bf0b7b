// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the syntax of the file, not of JavaScript
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { parseConfig } from '../../src/config/load.ts'
import { substitute } from '../../src/config/substitute.ts'

test('substitution puts variables into a text, any number of them', () => {
  expect(substitute('a ${X} b ${Y}${X}', { X: '1', Y: '2' })).toEqual({ value: 'a 1 b 21' })
})

test('substitution takes the default if a variable is not set or empty', () => {
  expect(substitute('${X:-a:-b}|${EMPTY:-c}|${SET:-d}|${X:-}', { EMPTY: '', SET: 'e' })).toEqual({
    value: 'a:-b|c|e|',
  })
})

test('substitution never makes an empty text of a missing or empty variable', () => {
  expect(substitute('a${X}', {})).toHaveProperty('problem', expect.stringContaining('X is not set'))
  expect(substitute('a${X}', { X: '' })).toHaveProperty('problem', expect.stringContaining('X is empty'))
})

test('substitution reports all that is missing in one text', () => {
  expect(substitute('${X} ${Y}', {})).toHaveProperty('problem', expect.stringMatching(/X is not set.*Y is not set/))
})

test('substitution does not look at what it has put in', () => {
  expect(substitute('${X}', { X: '${Y} $${ $& $1', Y: 'secret' })).toEqual({ value: '${Y} $${ $& $1' })
})

test('substitution does not read what every object inherits', () => {
  expect(substitute('${constructor}', {})).toHaveProperty('problem')
  expect(substitute('${toString:-x}', {})).toEqual({ value: 'x' })
})

test('substitution leaves a text alone that has no "${"', () => {
  const ordinary = fc.string({ unit: 'binary' }).filter((text) => !text.includes('${'))
  fc.assert(fc.property(ordinary, (text) => void expect(substitute(text, {})).toEqual({ value: text })))
}, 60_000)

test('substitution gives back any text whose "${" is escaped', () => {
  const text = fc.array(fc.constantFrom('${', '}', '$', '{', 'A', ':-')).map((pieces) => pieces.join(''))
  fc.assert(
    fc.property(text, (wanted) => {
      // A dollar sign right before would be read with the escape: `$$${` is `$${` and not `$` and `${`.
      fc.pre(!wanted.includes('$${'))
      expect(
        substitute(
          wanted.replaceAll('${', () => '$${'),
          {},
        ),
      ).toEqual({ value: wanted })
    }),
  )
}, 60_000)

test('a variable of any content ends up in its value and nowhere else', () => {
  const text = 'upstream: { url: http://127.0.0.1:9000 }\nauth:\n  jwt: []\nadmin:\n  token: "${TOKEN}"\n'
  fc.assert(
    fc.property(fc.string({ unit: 'binary-ascii', minLength: 16 }), (token) => {
      const result = parseConfig(text, 'tollgate.yaml', { TOKEN: token })
      if (result.ok) expect(result.config.admin.tokens[0]?.token).toBe(token)
      else expect(result.problems.map(({ path }) => path)).toEqual(['admin.token'])
    }),
  )
}, 60_000)

test('a secret of digits only stays the text that it is', () => {
  const text = 'upstream: { url: http://127.0.0.1:9000 }\nadmin:\n  token: ${TOKEN}\n'
  for (const token of ['00000000000000001', '12345678901234567890', '1e1000000000000000', 'true']) {
    const result = parseConfig(text, 'tollgate.yaml', { TOKEN: token })
    if (token === 'true') expect(result).toMatchObject({ ok: false, problems: [{ path: 'admin.token' }] })
    else expect(result.ok && result.config.admin.tokens[0]?.token).toBe(token)
  }
})
