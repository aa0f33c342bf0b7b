import type { AddressInfo } from 'node:net'
import { MAX_CONNECTIONS } from '../admin/connections.ts'
import type { Admin, AdminOptions } from '../admin/listener.ts'
import { listenerOnDemand } from '../lib/listener-on-demand.ts'
import type { Observer } from '../observe/observation.ts'

export type AdminListener = Pick<Admin, 'listen' | 'close'>

/**
 * Opens the admin address at once, but loads the listener behind it when somebody connects. Loading it takes a large part of a start,
 * and many replicas never need it.
 */
export function openAdminListener(options: AdminOptions, observe: Observer): AdminListener {
  // `localhost` has an address of IPv4 and one of IPv6. The listener itself opens both.
  if (options.listen.host === 'localhost') return openedAtOnce(options)
  const listener = listenerOnDemand({
    maxConnections: MAX_CONNECTIONS,
    prepare: async () => {
      const admin = await load(options)
      return { server: await admin.ready(), close: admin.close }
    },
    onFailure: (error) => observe({ type: 'internal_error', where: 'admin', error }),
  })
  return {
    listen: async () => ({ url: urlOf(await listener.listen(options.listen), options) }),
    close: () => listener.close(),
  }
}

function openedAtOnce(options: AdminOptions): AdminListener {
  const loading = load(options)
  return {
    listen: async () => (await loading).listen(),
    close: async () => (await loading).close(),
  }
}

async function load(options: AdminOptions): Promise<Admin> {
  const { createAdmin } = await import('../admin/listener.ts')
  return createAdmin(options)
}

/** The URL of the listener. If it listens on all addresses of IPv4, the URL names 127.0.0.1, which works on its machine. */
function urlOf({ address, family, port }: AddressInfo, { certificate = null }: AdminOptions): string {
  const host = address === '0.0.0.0' ? '127.0.0.1' : address
  return `${certificate === null ? 'http' : 'https'}://${family === 'IPv6' ? `[${host}]` : host}:${port}`
}
