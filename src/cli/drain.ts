import { parseArgs } from 'node:util'
import { isObject } from '../lib/json.ts'
import { type Asked, adminPlace, askAdmin } from './admin-request.ts'
import { CONFIG_OPTION, configFile } from './config-option.ts'

/** Takes the gateway on this machine with this configuration out of service, or back. It is the preStop hook of a container. */
export async function drain(args: readonly string[]): Promise<number> {
  const { values } = parseArgs({ args: [...args], options: { ...CONFIG_OPTION, end: { type: 'boolean' } } })
  const { origin, token, note } = await adminPlace(configFile(values.config))
  const url = `${origin}/drain?state=${values.end === true ? 'off' : 'on'}`
  const { draining, msg } = readResponse(await askAdmin({ method: 'POST', url, token, headers: SAID, readsBody: true }))
  const isDone = draining === (values.end !== true)
  if (isDone) console.log(`${origin}${note}: ${msg}`)
  else console.error(`not done: ${origin}${note}: ${msg}`)
  return isDone ? 0 : 1
}

/** Without this header a gateway could not distinguish the request from one that an attacker made a server on this machine send. */
const SAID = { 'x-tollgate-drain': 'yes' }

/** @returns `draining` is `null` if the gateway did not say */
function readResponse(asked: Asked): { draining: boolean | null; msg: string } {
  if ('failure' in asked) return { draining: null, msg: asked.failure }
  const { draining = null, msg = `status ${asked.status}` } = isObject(asked.body) ? asked.body : {}
  return { draining: typeof draining === 'boolean' ? draining : null, msg: String(msg) }
}
