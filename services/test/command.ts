import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { atEnd } from '../../test/setup/at-end.ts'

/** The command line of a service, with its secret in the environment. */
export function commandOf(service: string, variable: string, standard: string) {
  const main = fileURLToPath(new URL(`../${service}/main.ts`, import.meta.url))
  const start = (args: string[], secret = standard) => {
    const child = spawn(process.execPath, [main, ...args], { env: { ...process.env, [variable]: secret } })
    atEnd(() => child.kill('SIGKILL'))
    return child
  }
  const run = async (args: string[], secret?: string) => {
    const child = start(args, secret)
    const [out, err, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')])
    return { code, out, err }
  }
  return { start, run }
}
