import fc from 'fast-check'
import { expect, test } from 'vitest'
import { fill, type Names, parseTemplate, type TextKind, type Values } from '../../src/lib/template.ts'

const NAMES: Names = new Map([
  ['msg', 'text'],
  ['limit', 'number'],
  ['user', 'text'],
])

function filled(text: string, kind: TextKind, values: Values): string {
  const parsed = parseTemplate(text, kind, NAMES)
  if ('problem' in parsed) throw new Error(parsed.problem)
  return fill(parsed.value, values)
}

function problem(text: string, kind: TextKind): string | null {
  const parsed = parseTemplate(text, kind, NAMES)
  return 'problem' in parsed ? parsed.problem : null
}

test('a text with placeholders has in JSON what each value is, and within a string its text', () => {
  const text = '{"a":{"n":{{limit}},"m":{{ msg }}},"s":"\\"{{msg}}: {{limit}} {{user}}"}'
  expect(JSON.parse(filled(text, 'json', { msg: 'a "b"\n', limit: 5, user: null }))).toEqual({
    a: { n: 5, m: 'a "b"\n' },
    s: '"a "b"\n: 5 ',
  })
  expect(JSON.parse(filled(text, 'json', {}))).toEqual({ a: { n: null, m: null }, s: '": ' + ' ' })
})

test('a text with placeholders has in markup no value that is any, and in plain text none that a terminal acts on', () => {
  expect(filled('<p title="{{limit}}">{{msg}}</p>', 'markup', { msg: `<a href="x" o='1'>&\`\0`, limit: 5 })).toBe(
    '<p title="5">&#60;a href=&#34;x&#34; o=&#39;1&#39;&#62;&#38;&#96; </p>',
  )
  expect(filled('{{msg}}', 'plain', { msg: '\x1b[2J<b>\x9b' })).toBe(' [2J<b> ')
})

test.each<[text: string, kind: TextKind, problem: RegExp]>([
  ['a\n{{mgs}}', 'plain', /^line 2: \{\{mgs\}\} is no placeholder; did you mean "msg"\?$/],
  ['{{whatever}}', 'plain', /; the placeholders here are msg, limit, user$/],
  ['{{}}', 'plain', /is no placeholder/],
  ['a {{msg', 'plain', /^line 1: "\{\{" begins no placeholder/],
  ['{ "a": {{msg}} {{limit}} }', 'json', /^is no JSON once it is filled: line 1, column \d+/],
  ['"{{msg}}', 'json', /is no JSON/],
  ['', 'json', /is no JSON/],
  ['<p title="{{msg}}">', 'markup', /stands within a tag/],
  ['<a href={{user}}>x</a>', 'markup', /stands within a tag/],
  ['<a title=">" href={{user}}>', 'markup', /stands within a tag/],
  ['<p>\n<script>let a = "{{msg}}"</script>', 'markup', /^line 2: .*stands within a tag, a script/],
  ['<style>p { content: "{{msg}}" }</style>', 'markup', /stands within/],
  ['<!-- {{msg}} -->', 'markup', /stands within/],
  ['<!-- a > b {{msg}} -->', 'markup', /stands within/],
  ['<![CDATA[ a > b {{msg}} ]]>', 'markup', /stands within/],
  ['<![CDATA[ {{msg}} ]]>', 'markup', /stands within/],
])('a text with placeholders is refused with its line and the cure: %s as %s', (text, kind, expected) => {
  expect(problem(text, kind)).toMatch(expected)
})

test('a text with placeholders may have a number anywhere in markup, and texts between whatever has ended', () => {
  const text = '<!-- a --><meta content="{{limit}}"><script>let a = 1 < 2</script><a title=">">{{msg}}</a>'
  expect(problem(text, 'markup')).toBeNull()
})

test('a text with placeholders stays what it is, whatever the values are', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), fc.string({ unit: 'binary' }), (msg, user) => {
      const json = JSON.parse(filled('{"a":{{msg}},"b":"{{user}}"}', 'json', { msg, user })) as unknown
      expect(json).toEqual({ a: msg, b: user })
      expect(filled('<p>{{msg}}</p>', 'markup', { msg }).slice(3, -4)).not.toMatch(/[<>"'`\0-\x1f]|&(?!#\d+;)/)
    }),
  )
}, 60_000)
