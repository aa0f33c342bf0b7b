import * as z from 'zod'
import { type Operation, type ResponseDoc, serviceDocument } from '../common/openapi.ts'
import { version } from '../common/version.ts'
import { ERRORS, type ErrorCode } from './errors.ts'
import { DOCS, type Doc } from './operations.ts'
import { type Access, ROUTES, type Route } from './routes.ts'
import { errorBody } from './schemas/answers.ts'

/** Refusals that all endpoints of one kind of access have. */
const COMMON: Readonly<Record<Access, readonly ErrorCode[]>> = {
  open: ['internal'],
  gateway: ['unauthorized', 'internal'],
  user: ['invalid_request', 'unauthorized', 'account_busy', 'payload_too_large', 'internal'],
}

/**
 * The OpenAPI 3.1 document of the score backend, made from the schemas that validate its requests. It shows the service
 * as clients see it: through the gateway, with the gateway's credentials.
 * @param listLimit most records in one list of scores
 */
export function scoreDocument(listLimit: number): object {
  return serviceDocument({
    title: 'Score service',
    version,
    description: 'Music scores and related data of players, behind the gateway.',
    operations: ROUTES.map((route) => operationOf(route, listLimit)),
    securitySchemes: {
      bearer: { type: 'http', scheme: 'bearer', description: 'A JWT or a token of the gateway.' },
    },
  })
}

function operationOf({ method, path, access }: Route, listLimit: number): Operation {
  const { body, response, responseExample, errors = [], ...doc }: Doc = DOCS[path]
  return {
    method,
    path,
    ...doc,
    security: access === 'user' ? ['bearer'] : [],
    ...(body !== undefined && { body: body(listLimit) }),
    responses: {
      ...(response !== undefined && { 200: { description: 'Success', schema: response, example: responseExample } }),
      ...refusals([...COMMON[access], ...errors]),
    },
  }
}

function refusals(errors: readonly ErrorCode[]): Record<number, ResponseDoc> {
  const byStatus = Map.groupBy(errors, (error) => ERRORS[error].status)
  return Object.fromEntries([...byStatus].map(([status, same]) => [status, refusal(same)]))
}

function refusal(errors: readonly ErrorCode[]): ResponseDoc {
  const description = errors.map((error) => `\`${error}\`: ${ERRORS[error].means}`).join('\n\n')
  const bodies = errors.map(errorBody)
  return { description, schema: bodies.length === 1 ? (bodies[0] as z.ZodType) : z.union(bodies) }
}
