import { setTimeout as sleep } from 'node:timers/promises'
import { guideTool } from '../setup/guides-tools.ts'
import { ask, type Door } from './ask.ts'
import { startProgram } from './program.ts'
import { EXPRESS_SPELLINGS, type Service } from './service.ts'

/** Spellings of the dear path that are the dear path to an Express behind it: of those that say the same it makes one. */
export const TRAEFIK_SPELLINGS = [
  ...EXPRESS_SPELLINGS.slice(0, 4),
  ...['/v1/%63harge', '/v1/%43harge', '/v1/charge?a=b', '/v1//charge', '//v1/charge', '/v1/charge//'],
  ...['/v1/./charge', '/v1/x/../charge', '/v1/x/%2e%2e/charge'],
]

/** What Traefik says while it has no router. */
const NOT_READ = '404 page not found\n'

/**
 * Starts Traefik, and waits until it has read its dynamic configuration.
 * @param doorOf where clients come in at a port
 * @param args besides, for its entry point `web`
 */
export async function startTraefik(
  dynamic: string,
  doorOf: (port: number) => Door,
  ...args: readonly string[]
): Promise<Service> {
  const started = await startProgram(({ port, write }) => {
    write('dynamic.yml', dynamic)
    const own = [`--entryPoints.web.address=127.0.0.1:${port}`, '--providers.file.filename=dynamic.yml']
    return { command: guideTool('traefik'), args: [...own, '--log.level=FATAL', ...args] }
  })
  const door = doorOf(started.port)
  // Before that it has no certificate either.
  const said = () =>
    ask(door, { path: '/' }).then(
      ({ text }) => text,
      () => NOT_READ,
    )
  for (let tries = 0; (await said()) === NOT_READ; tries++) {
    if (tries > 1000) throw new Error('Traefik did not read its dynamic configuration')
    await sleep(25)
  }
  return started
}
