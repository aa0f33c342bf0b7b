import type { IncomingHttpHeaders } from 'node:http'
import type { FastifyInstance } from 'fastify'
import { jsonFault, memberNamedTwice } from '../lib/json-fault.ts'

/** Bodies of requests, which must be JSON. */

export const MAX_BODY = 64 * 1024

/** The body is no JSON, or has a member twice. The message says what is wrong at the path. */
export class BadBody extends Error {
  readonly path: string
  constructor(path: string, message: string) {
    super(message)
    this.path = path
  }
}

/** The body is compressed. RFC 9110 section 8.4 allows refusing it, and 12.5.3 lets the response say what is accepted. */
export class CodedBody extends Error {}

/** Fastify skips this before JSON. */
const BYTE_ORDER_MARK = /^\uFEFF/

/** Accepts only JSON, because a form of any page could send a text/plain body that parses as JSON. */
export function readJsonBodies(app: FastifyInstance): void {
  app.removeAllContentTypeParsers()
  const parse = app.getDefaultJsonParser('error', 'error')
  app.addContentTypeParser(
    ['application/json', 'application/merge-patch+json'],
    { parseAs: 'string' },
    (request, text, done) => {
      // A DELETE may have no body, whatever type it names.
      if (text === '') return done(null, undefined)
      const problem = problemOf(request.headers, text as string)
      return problem === null ? parse(request, text as string, done) : done(problem)
    },
  )
}

function problemOf(headers: IncomingHttpHeaders, text: string): Error | null {
  if (isCoded(headers)) return new CodedBody()
  const json = text.replace(BYTE_ORDER_MARK, '')
  const fault = jsonFault(json)
  if (fault !== null) return new BadBody('', fault)
  const twice = memberNamedTwice(json)
  return twice === null ? null : new BadBody(twice, 'is here twice: keep one')
}

export function isCoded({ 'content-encoding': coding }: IncomingHttpHeaders): boolean {
  return coding !== undefined && !/^\s*identity\s*$/i.test(coding)
}
