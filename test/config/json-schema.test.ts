// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the syntax of the file, not of JavaScript
import { readFileSync } from 'node:fs'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { describe, expect, test } from 'vitest'
import { parse } from 'yaml'
import { jsonSchema, printJsonSchema } from '../../src/config/json-schema.ts'
import { loadConfig } from '../../src/config/load.ts'

const read = (name: string) => readFileSync(new URL(`../../config/${name}`, import.meta.url), 'utf8')

const validate = new Ajv2020({ strict: true, strictTypes: false }).compile(jsonSchema())
const accepts = (text: string) => validate(parse(text))

test('the JSON Schema that ships is the one that this program writes', () => {
  expect(read('tollgate.schema.json')).toBe(printJsonSchema())
})

test('the JSON Schema accepts the reference file', () => {
  expect(accepts(read('tollgate.yaml')), JSON.stringify(validate.errors)).toBe(true)
})

test('the JSON Schema refuses unknown keys at every depth', () => {
  const UPSTREAM = 'upstream: { url: http://127.0.0.1:9000 }'
  expect(accepts(UPSTREAM)).toBe(true)
  expect(accepts(`${UPSTREAM}\nlisen: 0.0.0.0:8080`)).toBe(false)
  expect(accepts(`${UPSTREAM}\nquota: { baselines: { personel: {} } }`)).toBe(false)
  expect(accepts(`${UPSTREAM}\nroutes: [{ match: GET /a, categry: read }]`)).toBe(false)
})

test('the JSON Schema knows units, ranges and choices, and that the environment may give any value', () => {
  const withEdge = (edge: string) => accepts(`upstream: { url: "\${URL}" }\nedge: { ${edge} }`)
  expect(withEdge('headers_timeout: 10s, max_in_flight: 5')).toBe(true)
  expect(withEdge('headers_timeout: 10')).toBe(false)
  expect(withEdge('headers_timeout: ten')).toBe(false)
  expect(withEdge('max_in_flight: 0')).toBe(false)
  expect(withEdge('max_in_flight: "${MAX}", headers_timeout: "${TIMEOUT:-10s}"')).toBe(true)
  expect(withEdge('allow_in_path: [slash]')).toBe(false)
})

test('the JSON Schema has a price and what settles it once, wherever they may stand', () => {
  const timesOf = (text: string) => printJsonSchema().split(text).length - 1
  expect([timesOf('"times": {'), timesOf('"sum": {')]).toEqual([PRICES.length, 1])
  expect(timesOf('"#/$defs/settle"')).toBeGreaterThan(1)
  expect(keysOf(DEFINED.price as Json)).toContain('batch')
  const routes = (cost: string) =>
    accepts(`upstream: { url: http://a }\nroutes: [{ match: POST /a, category: read, ${cost} }]`)
  expect(routes('cost: { body: a, values: { b: { body: c, values: { d: { body: e, values: { f: 2 } } } } } }')).toBe(
    true,
  )
  expect(routes('cost: { body: a, values: { b: { body: c, value: { d: 2 } } } }')).toBe(false)
  expect(routes('settle: { json: a, maxx: 5 }')).toBe(false)
})

test('the JSON Schema says of every key what it means', () => {
  expect(keysWithoutDescription(jsonSchema(), '')).toEqual([])
})

describe('the reference file', () => {
  const file = new URL('../../config/tollgate.yaml', import.meta.url).pathname

  test('the reference file passes check without a warning', async () => {
    expect(await loadConfig(file, { TOLLGATE_ADMIN_TOKEN: '0123456789abcdef0123456789abcdef' })).toMatchObject({
      ok: true,
      warnings: [],
    })
  })

  test('the reference file names every key of the schema', () => {
    const text = read('tollgate.yaml')
    const missing = keysOf(jsonSchema()).filter((key) => !new RegExp(`(?:^|[\\s#{,])${key}:`, 'm').test(text))
    expect(missing).toEqual([])
  })

  test('the reference file shows the defaults', () => {
    const shown = parse(read('tollgate.yaml'))
    const differing = defaultsOf(jsonSchema(), []).filter(([path, value]) => {
      const found = path.reduce((node, key) => node?.[key], shown)
      return found !== undefined && typeof value !== 'object' && found !== value
    })
    expect(differing.map(([path]) => path.join('.'))).toEqual([])
  })
})

type Json = { [key: string]: unknown }

const DEFINED = jsonSchema().$defs as Record<string, Json>
const PRICES = Object.keys(DEFINED).filter((name) => name.startsWith('price'))

/** What a reference names, as editors show it. */
function resolved(node: Json): Json {
  const name = /^#\/\$defs\/(\w+)$/.exec(String(node.$ref))?.[1]
  return name === undefined ? node : { ...DEFINED[name], ...node }
}

function children(of: Json): [string, Json][] {
  const node = resolved(of)
  const nested = [node.items, node.additionalProperties, ...((node.anyOf as unknown[]) ?? [])]
  return [
    ...Object.entries((node.properties as Record<string, Json>) ?? {}),
    ...nested
      .filter((child): child is Json => typeof child === 'object' && child !== null)
      .map((child): [string, Json] => ['', child]),
  ]
}

function keysOf(node: Json): string[] {
  return children(node).flatMap(([key, child]) => [...(key === '' ? [] : [key]), ...keysOf(child)])
}

function keysWithoutDescription(node: Json, path: string): string[] {
  return children(node).flatMap(([key, child]) => {
    const place = key === '' ? path : `${path}.${key}`
    const isMissing = key !== '' && resolved(child).description === undefined
    return [...(isMissing ? [place] : []), ...keysWithoutDescription(child, place)]
  })
}

function defaultsOf(node: Json, path: string[]): [string[], unknown][] {
  return Object.entries((node.properties as Record<string, Json>) ?? {}).flatMap(([key, child]) => [
    ...('default' in child ? [[[...path, key], child.default] as [string[], unknown]] : []),
    ...defaultsOf(child, [...path, key]),
  ])
}
