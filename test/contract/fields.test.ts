import { expect, test } from 'vitest'
import { adminDocument } from '../../build/reference/documents.ts'
import { clientComponents } from '../../src/contract/client.ts'
import { FIELDS } from '../../src/contract/fields.ts'

type Json = Readonly<Record<string, unknown>>

/** Each member of each object, as `Body.member`. */
function membersOf(value: unknown, body: string): [name: string, member: Json][] {
  if (Array.isArray(value)) return value.flatMap((each) => membersOf(each, body))
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([key, part]) => {
    if (key !== 'properties') return membersOf(part, body)
    const members = Object.entries(part as Readonly<Record<string, Json>>)
    return members.flatMap(([name, member]): [string, Json][] => [
      [`${body}.${name}`, member],
      ...membersOf(member, body),
    ])
  })
}

const NAMES = { categories: ['read', 'write'], windows: [{ name: '1h' }] }

async function members(): Promise<[string, Json][]> {
  const { components } = (await adminDocument()) as unknown as { components: { schemas: Json } }
  const all = { ...components.schemas, ...clientComponents(NAMES) }
  return Object.entries(all).flatMap(([body, schema]) => membersOf(schema, body))
}

test('every field of every body that the documents of both listeners name has a description', async () => {
  const all = await members()
  expect(all.length).toBeGreaterThan(700)
  // The one object of clients whose members are the names of categories.
  const bare = all.filter(([name, { description }]) => description === undefined && !/\.(?:read|write)$/.test(name))
  expect(bare.map(([name]) => name)).toEqual([])
})

test('every operation of the administrators has a description, a tag, and a description of each parameter', async () => {
  const { paths } = (await adminDocument()) as unknown as { paths: Record<string, Record<string, Json>> }
  const operations = Object.entries(paths).flatMap(([path, item]) =>
    Object.entries(item).map(([method, operation]) => [`${method} ${path}`, operation] as const),
  )
  for (const [name, { description, tags, parameters = [] }] of operations) {
    expect([description, tags], name).toEqual([expect.stringMatching(/\.$/), [expect.any(String)]])
    for (const { name: parameter, description } of parameters as Json[]) {
      expect(description, `${name} ${parameter}`).toEqual(expect.stringMatching(/\w/))
    }
  }
})

test('every entry of the table describes a field, so that none is left behind when a field goes', async () => {
  const used = new Set((await members()).flatMap(([name]) => [name, name.split('.').at(-1) ?? '']))
  for (const parameter of ['?.limit', '?.cursor']) used.add(parameter)
  expect([...FIELDS.keys()].filter((name) => !used.has(name))).toEqual([])
})

test('a member of a body says something else than an error of the same name, where it is something else', async () => {
  const { paths } = (await adminDocument()) as unknown as {
    paths: Record<string, Record<string, { requestBody?: Json }>>
  }
  const said = Object.values(paths)
    .flatMap((operations) => Object.values(operations))
    .flatMap(({ requestBody }) => membersOf(requestBody, ''))
    .map(([, { description }]) => description)
  expect(said).toContain('The part of the link after the sign `#`')
  const ofErrors = ['code', 'error', 'msg', 'problems'].map((name) => FIELDS.get(name))
  expect(said.filter((text) => ofErrors.includes(text as string))).toEqual([])
})
