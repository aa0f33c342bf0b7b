import { readdirSync, readFileSync } from 'node:fs'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { beforeAll, describe, expect, it, test } from 'vitest'
import { parse } from 'yaml'
import { examplesIn, flow } from '../../build/reference/configuration.ts'
import { pages } from '../../build/reference/main.ts'
import { below, type Key, keysOf, kindOf, type Node, nameOf } from '../../build/reference/schema.ts'

let made: Readonly<Record<string, string>>
beforeAll(async () => {
  made = await pages()
})

const schema: Node & { readonly $defs: object } = JSON.parse(readFileSync('config/tollgate.schema.json', 'utf8'))
const page = readFileSync('docs/reference/configuration.md', 'utf8')
const keys = keysOf(below(schema, []))

describe('the references', () => {
  it.each(readdirSync('docs/reference').map((name) => `docs/reference/${name}`))(
    '%s is as `npm run docs:reference` writes it',
    (path) => {
      expect(readFileSync(path, 'utf8')).toBe(made[path])
    },
  )
})

/** The keys that have a heading, and those that stand with the keys below another one. */
function isDescribed({ path }: Key): boolean {
  const lengths = path.map((_, i) => i + 1)
  const nearest = lengths.findLast((length) => page.includes(` \`${nameOf(path.slice(0, length))}\`\n`)) ?? 0
  const isOfList = page.includes(` \`${nameOf(path).replaceAll('[]', '')}\`\n`)
  if (nearest === path.length || isOfList) return true
  const [, section = ''] = page.split(` \`${nameOf(path.slice(0, nearest))}\`\n`)
  return /^The keys below it are those of/m.test(section.split('\n## ')[0]?.split('\n### ')[0] ?? '')
}

test('the reference of the configuration has every key of the schema, each under an anchor of its own', () => {
  expect(keys.length).toBeGreaterThan(300)
  expect(keys.filter((key) => !isDescribed(key)).map(({ path }) => nameOf(path))).toEqual([])
  const anchors = [...page.matchAll(/^#+ `(.+)`$/gm)].map(([, name = '']) => name.replace(/[^\w-]/g, '').toLowerCase())
  expect(anchors.filter((anchor, i) => anchors.indexOf(anchor) !== i)).toEqual([])
})

test('each example of a key is a value that the schema takes there', () => {
  const ajv = new Ajv2020({ strict: false })
  const sections = page.split(/^#+ (?=`)/m).slice(1)
  const examples = sections.flatMap((section) => {
    const [, name = '', text] = /^`(.+)`\n[\s\S]*?^Example: `(.*)`$/m.exec(section) ?? []
    return text === undefined ? [] : [{ name, value: parse(`{ ${text} }`) }]
  })
  expect(examples.length).toBeGreaterThan(200)
  for (const { name, value } of examples) {
    const key = keys.find(({ path }) => nameOf(path) === name)
    const inner = key?.path.reduce((at, part) => (part === '[]' ? at[0] : (at[part] ?? Object.values(at)[0])), value)
    expect(ajv.validate({ ...key?.node, $defs: schema.$defs }, inner), `${name}: ${JSON.stringify(inner)}`).toBe(true)
  }
})

test('a file of examples gives the values of its keys, also of those that are commented out', () => {
  const text =
    '# Words: of the head\na:\n  b: 2s   # 1s to 2m\n  # c: { d: [x] }   # default none\n  f: {}\n    # X-Any: y\n- { e: 1 }\n'
  expect(examplesIn(text).map(({ path, value }) => `${nameOf(path)} ${flow(value)}`)).toEqual(
    expect.arrayContaining(['a.b 2s', 'a.c { d: [x] }', 'a.c.d [x]', 'a.f.X-Any y', '[].e 1']),
  )
})

test('what may be written for a key is said as a phrase', () => {
  const variable = { $ref: '#/$defs/variable' }
  expect(kindOf({ anyOf: [{ type: 'integer', minimum: 1, maximum: 9 }, variable] })).toBe('whole number (1 to 9)')
  expect(kindOf({ anyOf: [{ const: 'none' }, { pattern: '^(\\d{1,12})(ms|s|m|h|d)$', type: 'string' }] })).toBe(
    '`none` or duration',
  )
  expect(kindOf({ items: { enum: ['a', 'b'] }, maxItems: 3 })).toBe('list (0 to 3 elements) of `a`, `b`')
  expect(kindOf({ additionalProperties: { type: 'boolean' } })).toBe('map of names, each with boolean')
  expect(kindOf({ $ref: '#/components/schemas/Quota' })).toBe('[`Quota`](#quota)')
})
