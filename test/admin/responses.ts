import { Ajv2020 } from 'ajv/dist/2020.js'
import { expect } from 'vitest'
import type { Reply } from './running.ts'

/** Holds an answer against the OpenAPI document of the listener that gave it, and passes it on. */
export type ResponseCheck = (method: string, path: string, reply: Reply) => Reply

// biome-ignore lint/suspicious/noExplicitAny: the document is judged here, not trusted
type Json = any

/** By the text of the document: its schemas take a while to compile. */
const validators = new Map<string, ReturnType<typeof responseValidator>>()

export async function checkResponses(url: string): Promise<ResponseCheck> {
  const text = await (await fetch(`${url}/openapi.json`)).text()
  const validate = validators.get(text) ?? responseValidator(JSON.parse(text))
  validators.set(text, validate)
  return function check(method, path, reply) {
    const problem = validate(method === 'HEAD' ? 'GET' : method, path.split('?', 1)[0] ?? '', reply)
    expect(problem, `${method} ${path}: ${reply.status} ${reply.text.slice(0, 500)}`).toBeNull()
    return reply
  }
}

/** @returns what is wrong with an answer; `null` for nothing, and for paths and methods that the document does not have */
export function responseValidator(document: Json): (method: string, path: string, reply: Reply) => string | null {
  const ajv = new Ajv2020({ strict: false, allErrors: true })
  ajv.addFormat('date-time', /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
  ajv.addSchema(document, 'openapi')
  return function problemWith(method, path, { status, headers, json, text }) {
    const [template, item] = pathOf(document, path) ?? []
    const operation = item?.[method.toLowerCase()]
    if (operation === undefined || status === 405) return null
    const response = operation.responses[status]
    if (response === undefined) return `status ${status} is not in the document`
    if (response.content === undefined) return text === '' ? null : 'a body that is not in the document'
    const type = headers['content-type']?.split(';')[0] ?? ''
    if (response.content[type] === undefined) return `type ${type} is not in the document`
    if (type !== 'application/json' || text === '') return null
    const pointer = ['paths', template, method.toLowerCase(), 'responses', status, 'content', type, 'schema']
    const fits = ajv.getSchema(`openapi#/${pointer.map(escaped).join('/')}`)
    if (fits === undefined) return 'no schema'
    if (!fits(json)) return ajv.errorsText(fits.errors)
    if (status < 400 || json.error === undefined || response.description.includes(`\`${json.error}\``)) return null
    return `the error ${json.error} is not in the document`
  }
}

function escaped(part: string | number | undefined): string {
  return encodeURIComponent(String(part).replace(/~/g, '~0').replace(/\//g, '~1'))
}

/** A path without parameters before one with them. */
function pathOf(document: Json, path: string): [string, Json] | undefined {
  const entries = Object.entries(document.paths as Record<string, Json>).sort(
    ([a], [b]) => Number(a.includes('{')) - Number(b.includes('{')),
  )
  return entries.find(([template]) =>
    new RegExp(`^${template.replace(/[.]/g, '\\.').replace(/\{\w+\}/g, '[^/]+')}$`).test(path),
  )
}
