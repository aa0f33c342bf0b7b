import { createSecureContext, type SecureContext, type SecureContextOptions } from 'node:tls'
import type { Certificate } from '../lib/tls.ts'

/** The form that `https.createServer` takes. */
export type SniCallback = (name: string, done: (error: Error | null, context?: SecureContext) => void) => void

/**
 * Chooses a certificate by the requested name. A certificate for exactly this name goes before one for `*.` and the rest of the
 * name. For any other name the server's own certificate stays.
 */
export function byServerName(certificate: Certificate): SniCallback {
  let contexts = contextsOf(certificate)
  certificate.onChange(() => {
    contexts = contextsOf(certificate)
  })
  return (asked, done) => {
    const name = asked.toLowerCase().replace(/\.$/, '')
    done(null, contexts.get(name) ?? contexts.get(name.replace(/^[^.]+/, '*')))
  }
}

function contextsOf(certificate: Certificate): Map<string, SecureContext> {
  const made = new Map<SecureContextOptions['cert'], SecureContext>()
  return new Map(
    [...certificate.byName()].map(([name, options]) => {
      const context = made.get(options.cert) ?? createSecureContext(options)
      made.set(options.cert, context)
      return [name, context]
    }),
  )
}
