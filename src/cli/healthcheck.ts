import { parseArgs } from 'node:util'
import { adminPlace, askAdmin } from './admin-request.ts'
import { CONFIG_OPTION, configFile } from './config-option.ts'

/** Asks the gateway on this machine with this configuration whether it is alive, for the health check of a container. */
export async function healthcheck(args: readonly string[]): Promise<number> {
  const { values } = parseArgs({ args: [...args], options: CONFIG_OPTION })
  const { origin, note } = await adminPlace(configFile(values.config))
  const url = `${origin}/livez`
  const asked = await askAdmin({ method: 'GET', url, readsBody: false })
  const failure = 'failure' in asked ? asked.failure : asked.status === 200 ? null : `status ${asked.status}`
  if (failure === null) console.log(`alive: ${url}${note}`)
  else console.error(`not alive: ${url}${note}: ${failure}`)
  return failure === null ? 0 : 1
}
