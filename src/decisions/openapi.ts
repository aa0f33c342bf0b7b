import { componentsOf, contentOf } from '../contract/components.ts'
import { decideBody, decided, named, refundBody, settleBody, settledBody } from '../contract/decisions.ts'
import { errorBody } from '../contract/refusal.ts'
import { openapiDocument, operationId } from '../lib/openapi.ts'
import { requestBody } from '../lib/openapi-schemas.ts'
import { PATHS } from './paths.ts'

/** The OpenAPI 3.1 document for services that ask, made from the schemas that also validate. */
export function decisionsDocument(version: string) {
  const info = {
    title: 'Tollgate decisions',
    version,
    description: 'For services that ask whether a request may go on, and settle later what it cost.',
    license: { name: 'MIT', identifier: 'MIT' },
  }
  const securitySchemes = { token: { type: 'apiKey', in: 'header', name: 'X-Tollgate-Token', description: TOKEN } }
  return openapiDocument(info, ROUTES, operation, { schemas: componentsOf(named), securitySchemes })
}

const TOKEN = 'decisions.token of the configuration; nothing if it has none.'

const ROUTES = [
  {
    ...{
      method: 'POST',
      path: PATHS.decide,
      summary: 'Whether a request may go on',
      body: decideBody,
      response: decided,
    },
    description: 'The same way as a request to the gateway. A refusal is a 200 too, which says so.',
  },
  {
    ...{ method: 'POST', path: PATHS.settle, summary: 'What a request cost', body: settleBody, response: settledBody },
    description: 'Once: whoever brings the id again changes nothing. More than the charge is taken whatever is left.',
  },
  {
    ...{
      method: 'POST',
      path: PATHS.refund,
      summary: 'A request was not served',
      body: refundBody,
      response: settledBody,
    },
    description: 'The same with a cost of 0.',
  },
] as const

/** By status, the codes for a question that cannot be decided. To stop a request is a decision, so it has no code here. */
const REFUSED = {
  400: '`bad_request`',
  401: '`unauthorized`',
  413: '`payload_too_large`',
  429: '`too_many_in_flight`',
  503: '`store_unavailable` or `overloaded`',
}

function operation({ method, path, summary, description, body, response }: (typeof ROUTES)[number]): object {
  const refused = (codes: string) => ({
    description: `The question is refused: \`error\` is ${codes}.`,
    content: { 'application/json': contentOf(errorBody, named) },
  })
  return {
    operationId: operationId(method, path),
    summary,
    description,
    requestBody: requestBody(body, contentOf(body, named)),
    responses: {
      200: { description: 'Done.', content: { 'application/json': contentOf(response, named) } },
      ...Object.fromEntries(Object.entries(REFUSED).map(([status, codes]) => [status, refused(codes)])),
    },
    security: [{ token: [] }, {}],
  }
}
