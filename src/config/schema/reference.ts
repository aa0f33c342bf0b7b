import { parsePagePath, parseServiceUrl } from '../addresses.ts'
import type { OpenapiDocument } from '../openapi-file.ts'
import { list, read, section, text } from './values.ts'

/** The page that describes the API. */

export const referenceService = section(
  {
    name: text({ max: 64, what: 'a name' }).describe('What it is called in the selection, 1 to 64 characters'),
    url: read('the address of the service, like http://127.0.0.1:9002', parseServiceUrl).describe(
      'The address at which the browsers of the readers reach the service: http or https, host, port and, where it has one, path',
    ),
    openapi: text({ what: 'a path like /openapi.json', pattern: '^/' })
      .regex(/^\/[!-~]*$/, { error: 'is not a path: write one like /openapi.json, with other characters as %XX' })
      .default('/openapi.json')
      .describe('Path of its OpenAPI document, which url stands before. Default /openapi.json'),
  },
  'A service beside the gateway',
)

export const reference = section(
  {
    path: read('a path like /reference', parsePagePath).describe(
      'Where the page is, like /reference; its files are below it',
    ),
    title: text({ max: 100 })
      .default('API reference')
      .describe('Title of the page, 1 to 100 characters. Default API reference'),
    openapi: text()
      .optional()
      .describe(
        'OpenAPI 3 document of the upstream, JSON or YAML, relative to this file. Without it only the route map is shown',
      ),
    services: list(referenceService, 0, 100)
      .default([])
      .describe('More services that a reader can choose on the page. Default none'),
  },
  'A public page on which the API can be read and tried. Default off',
  'a map like { path: /reference }',
).transform(({ openapi = null, ...rest }) => ({ ...rest, openapi, document: null as OpenapiDocument | null }))
