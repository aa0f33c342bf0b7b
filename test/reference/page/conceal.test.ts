import { expect, test } from 'vitest'
import { concealed, placesOf, type Shown } from '../../../src/reference/page/conceal.ts'

/** As Swagger UI keeps a request. */
function shown(entries: Readonly<Record<string, unknown>>): Shown & { readonly entries: typeof entries } {
  return {
    entries,
    get: (key) => entries[key],
    set: (key, value) => shown({ ...entries, [key]: value }),
    map: (change) =>
      shown(Object.fromEntries(Object.entries(entries).map(([key, value]) => [key, change(value, key)]))),
  }
}

const places = placesOf({
  bearer: { type: 'http', scheme: 'bearer' },
  field: { type: 'apiKey', in: 'header', name: 'X-API-Key' },
  parameter: { type: 'apiKey', in: 'query', name: 'api key' },
})

function hidden(url: string, headers: Readonly<Record<string, string>>) {
  const request = concealed(shown({ url, headers: shown(headers) }), places) as ReturnType<typeof shown>
  return { url: request.entries.url, headers: (request.entries.headers as ReturnType<typeof shown>).entries }
}

test('a request that the reference page shows has no credential in a field, and keeps its scheme', () => {
  const fields = { Authorization: 'Bearer the secret', 'x-api-key': 'secret', cookie: 'sid=secret', accept: '*/*' }
  expect(hidden('https://a.test/items', fields)).toEqual({
    url: 'https://a.test/items',
    headers: { Authorization: 'Bearer CREDENTIAL', 'x-api-key': 'CREDENTIAL', cookie: 'CREDENTIAL', accept: '*/*' },
  })
})

test('a request that the reference page shows has no credential in a parameter of its query, however the name is escaped', () => {
  expect(hidden('https://a.test/items?a=1&api%20key=secret&b', {}).url).toBe(
    'https://a.test/items?a=1&api%20key=CREDENTIAL&b',
  )
})

test('a request that the reference page shows shows no part of a key that stands in Authorization without a scheme, or is named by a reference', () => {
  const others = placesOf({
    key: { type: 'apiKey', in: 'header', name: 'Authorization' },
    same: { $ref: '#/components/securitySchemes/other' },
    other: { type: 'apiKey', in: 'header', name: 'X-Other' },
  })
  const headers = shown({ authorization: 'my phrase', 'X-Other': 'secret ' })
  const request = concealed(shown({ url: 'https://a.test/?%', headers }), others) as ReturnType<typeof shown>
  expect((request.entries.headers as ReturnType<typeof shown>).entries).toEqual({
    authorization: 'CREDENTIAL',
    'X-Other': 'CREDENTIAL',
  })
  expect(hidden('https://a.test/?%&api%20key=secret', {}).url).toBe('https://a.test/?%&api%20key=CREDENTIAL')
})

test('a request that the reference page shows is nothing before anything was sent', () => {
  expect(concealed(null, places)).toBeNull()
  expect(placesOf(undefined).parameters.size).toBe(0)
})
