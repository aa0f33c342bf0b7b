import * as z from 'zod'
import { type Operation, serviceDocument } from '../common/openapi.ts'
import { version } from '../common/version.ts'
import { ROUTES } from './routes.ts'

export const DOCUMENT_PATH = '/openapi.json'

const SELF: Operation = {
  method: 'GET',
  path: DOCUMENT_PATH,
  tag: 'This document',
  summary: 'This document',
  security: [],
  responses: { 200: { description: 'OpenAPI 3.1', schema: z.looseObject({}) } },
}

/** The API of this service, made from its routes and the schemas that validate. */
export function describeApi() {
  return serviceDocument({
    title: 'Network score-sync',
    version,
    description: 'Takes scores of players in bulk, in one request or as a snapshot in chunks, and gives them back.',
    operations: [...ROUTES, SELF],
    securitySchemes: {
      BotToken: {
        type: 'apiKey',
        in: 'header',
        name: 'Bot-Token',
        description: 'A shared secret of the configuration',
      },
    },
  })
}
