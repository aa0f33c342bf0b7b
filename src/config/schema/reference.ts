import { parsePagePath, parseServiceUrl } from '../addresses.ts'
import type { OpenapiDocument } from '../openapi-file.ts'
import { list, or, read, section, text } from './values.ts'

/** The public page on which the API can be read and tried. */

export const referenceService = section(
  {
    name: text({ max: 64, what: 'a name' }).describe('The name of the service on the page, 1 to 64 characters'),
    url: read('the address of the service, like http://127.0.0.1:9002', parseServiceUrl).describe(
      'The address of the service for the browsers of your readers, with http or https, host, port and path',
    ),
    openapi: text({ what: 'a path like /openapi.json', pattern: '^/' })
      .regex(/^\/[!-~]*$/, { error: 'is not a path: write one like /openapi.json, with other characters as %XX' })
      .default('/openapi.json')
      .describe('The path of the OpenAPI document of the service, below url. Default /openapi.json'),
  },
  'A further service, beside the one behind the gateway',
)

export const reference = section(
  {
    path: read('a path like /reference', parsePagePath).describe(
      'Where the page is, like /reference; its files are below it',
    ),
    title: or(text({ max: 100 }), 'API reference').describe('Title of the page, 1 to 100 characters'),
    openapi: text()
      .optional()
      .describe(
        'OpenAPI 3 document of the upstream, JSON or YAML, relative to this file. Without it only the route map is shown',
      ),
    services: list(referenceService, 0, 100)
      .default([])
      .describe('Further services that a reader can choose on the page. Default none'),
  },
  'A public page on which developers can read about your API and try it. Default off',
  'a map like { path: /reference }',
).transform(({ openapi = null, ...rest }) => ({ ...rest, openapi, document: null as OpenapiDocument | null }))
