import { createServer } from 'node:net'
import type { Config } from '../../config/config.ts'
import { addressProblem } from '../gateway-listener.ts'
import { neededFiles, openFilesProblem } from '../open-files.ts'
import { failed, type Tried } from './tried.ts'

/** Whether both listeners can have their addresses. A gateway of this configuration that runs here has them already. */
export async function tryAddresses({ listen, admin }: Config): Promise<Tried[]> {
  return [await tryAddress(['listen'], listen), await tryAddress(['admin', 'listen'], admin.listen)]
}

async function tryAddress(path: readonly string[], { host, port }: Config['listen']): Promise<Tried> {
  try {
    await listenOnce(host, port).catch(addressProblem(...path))
    return { path, result: 'good', message: `${host}:${port} is free` }
  } catch (error) {
    return failed(error)
  }
}

function listenOnce(host: string, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    const server = createServer().once('error', reject)
    server.listen({ host, port }, () => server.close(() => resolve()))
  })
}

/** Whether this process may open as many files as its connections need. */
export function tryOpenFiles(config: Config): Tried[] {
  const path = ['edge']
  const problem = openFilesProblem(config)
  if (problem !== null) return [{ path, result: 'failed', message: problem.replace(/^edge: /, '') }]
  return [{ path, result: 'good', message: `this process may open the ${neededFiles(config)} files that it may need` }]
}
