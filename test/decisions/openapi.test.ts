import { expect, test } from 'vitest'
import { decisionsDocument } from '../../src/decisions/openapi.ts'

type Json = Readonly<Record<string, unknown>>

function membersOf(value: unknown, body: string): [name: string, member: Json][] {
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([key, part]): [string, Json][] => {
    if (key !== 'properties') return membersOf(part, body)
    const members = Object.entries(part as Readonly<Record<string, Json>>)
    return members.flatMap(([name, member]) => [
      [`${body}.${name}`, member] as [string, Json],
      ...membersOf(member, body),
    ])
  })
}

test('the document for services that ask describes each field of each body, and each operation', () => {
  const { components, paths } = decisionsDocument('test') as unknown as {
    readonly components: { readonly schemas: Readonly<Record<string, Json>> }
    readonly paths: Readonly<Record<string, { readonly post: Json }>>
  }
  const members = Object.entries(components.schemas).flatMap(([body, schema]) => membersOf(schema, body))
  expect(members.length).toBeGreaterThan(30)
  const bare = members.filter(([, { description, $ref }]) => description === undefined && $ref === undefined)
  expect(bare.map(([name]) => name)).toEqual([])
  expect(Object.keys(paths)).toEqual(['/decide', '/settle', '/refund'])
  for (const { post } of Object.values(paths)) expect(post.description).toMatch(/\.$/)
})
