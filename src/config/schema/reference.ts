import { parsePagePath, parseServiceUrl } from '../addresses.ts'
import type { OpenapiDocument } from '../openapi-file.ts'
import { list, read, section, text } from './values.ts'

/** The page that describes the API. */

export const referenceService = section(
  {
    name: text({ description: 'What it is called in the selection, 1 to 64 characters' }, { max: 64, what: 'a name' }),
    url: read('the address of the service, like http://127.0.0.1:9002', parseServiceUrl, {
      description:
        'The address at which the browsers of the readers reach the service: http or https, host, port and, where it has one, path',
    }),
    openapi: text(
      {
        description: 'Path of its OpenAPI document, which url stands before. Default /openapi.json',
        pattern: '^/',
      },
      { what: 'a path like /openapi.json' },
    )
      .regex(/^\/[!-~]*$/, { error: 'is not a path: write one like /openapi.json, with other characters as %XX' })
      .default('/openapi.json'),
  },
  'A service beside the gateway',
)

export const reference = section(
  {
    path: read('a path like /reference', parsePagePath, {
      description: 'Where the page is, like /reference; its files are below it',
    }),
    title: text({ description: 'Title of the page, 1 to 100 characters. Default API reference' }, { max: 100 }).default(
      'API reference',
    ),
    openapi: text({
      description:
        'OpenAPI 3 document of the upstream, JSON or YAML, relative to this file. Without it only the route map is shown',
    }).optional(),
    services: list(referenceService, 0, 100, {
      description: 'More services that a reader can choose on the page. Default none',
    }).default([]),
  },
  'A public page on which the API can be read and tried. Default off',
  'a map like { path: /reference }',
).transform(({ openapi = null, ...rest }) => ({ ...rest, openapi, document: null as OpenapiDocument | null }))
