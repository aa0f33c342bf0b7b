import type { Config } from '../../config/config.ts'
import { tryUpstream } from '../../forward/try-upstream.ts'
import { forwardOptions } from '../runtime.ts'
import { failed, type Tried } from './tried.ts'

/** Whether the upstream accepts connections and, with TLS, has a valid certificate for its name. */
export async function tryService(config: Config): Promise<Tried[]> {
  const { url, socket } = config.upstream
  const isTls = url.startsWith('https:')
  const path = ['upstream', socket === null ? 'url' : 'socket']
  try {
    const error = await tryUpstream(forwardOptions(config, () => false))
    if (error === null) {
      const message = `takes connections${isTls ? ' by TLS, with a certificate that is good for its name' : ''}`
      return [{ path, result: 'good', message }]
    }
    return [{ path, result: 'failed', message: `${wordsOf(error)}: ${cureFor(error, isTls)}` }]
  } catch (error) {
    return [failed(error)]
  }
}

/** OpenSSL has messages of its own, with a line end, for bytes that are not TLS. */
function wordsOf(error: NodeJS.ErrnoException): string {
  return isNoTls(error) ? 'what listens there speaks no TLS' : error.message.trim()
}

function isNoTls({ message }: Error): boolean {
  return message.includes('wrong version number')
}

function cureFor(error: NodeJS.ErrnoException, isTls: boolean): string {
  if (!isTls || /^E[A-Z]+$/.test(error.code ?? ''))
    return 'start the service, or correct its address, and let this machine reach it'
  if (isNoTls(error)) return 'write http://, or the port on which it speaks TLS'
  return 'name the authority of its certificate in upstream.tls.ca, or its name in upstream.tls.server_name'
}
