import { domain } from './domain.ts'
import { section, text } from './values.ts'

const file = (description: string) =>
  text({ what: 'the path of a PEM file' }).optional().describe(`${description}: a PEM file, relative to this file`)

/** TLS for the gateway's own connections. */
export const clientTls = (description: string, serverName: string) =>
  domain(
    section(
      {
        ca: file('Authorities to trust instead of the system’s'),
        cert: file('Client certificate'),
        key: file('Key of the client certificate'),
        server_name: text({ max: 253 }).optional().describe(serverName),
      },
      description,
    ),
    { ca: 'caFile', cert: 'certFile', key: 'keyFile' },
  )
