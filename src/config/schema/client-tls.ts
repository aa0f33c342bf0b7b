import { domain } from './domain.ts'
import { section, text } from './values.ts'

const file = (description: string) =>
  text(
    { description: `${description}: a PEM file, relative to this file` },
    { what: 'the path of a PEM file' },
  ).optional()

/** TLS to somebody whom the gateway is a client of. */
export const clientTls = (description: string, serverName: string) =>
  domain(
    section(
      {
        ca: file('Authorities to trust instead of the system’s'),
        cert: file('Client certificate'),
        key: file('Key of the client certificate'),
        server_name: text({ description: serverName }, { max: 253 }).optional(),
      },
      description,
    ),
    { ca: 'caFile', cert: 'certFile', key: 'keyFile' },
  )
