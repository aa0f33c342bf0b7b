import { createServer, type ListenOptions } from 'node:net'
import type { Config, Listen } from '../../config/config.ts'
import { removeDeadSocket } from '../../lib/dead-socket.ts'
import { addressProblem } from '../gateway-listener.ts'
import { neededFiles, openFilesProblem } from '../open-files.ts'
import { failed, type Tried } from './tried.ts'

/** Whether the listeners' addresses are available. If a gateway with this configuration runs here, it has them already. */
export async function tryAddresses({ listen, admin, decisions }: Config): Promise<Tried[]> {
  const tried = [await tryAddress(['listen'], listen), await tryAddress(['admin', 'listen'], admin.listen)]
  return decisions === null ? tried : [...tried, await tryAddress(['decisions', 'listen'], decisions.listen)]
}

async function tryAddress(path: readonly string[], listen: Listen): Promise<Tried> {
  const place = 'socket' in listen ? { path: listen.socket } : listen
  try {
    if ('socket' in listen) await removeDeadSocket(listen.socket)
    await listenOnce(place).catch(addressProblem(...path))
    const name = 'socket' in listen ? listen.socket : `${listen.host}:${listen.port}`
    return { path, result: 'good', message: `${name} is free` }
  } catch (error) {
    return failed(error)
  }
}

function listenOnce(place: ListenOptions): Promise<void> {
  return new Promise((resolve, reject) => {
    const server = createServer().once('error', reject)
    server.listen(place, () => server.close(() => resolve()))
  })
}

/** Whether this process may open as many files as its connections need. */
export function tryOpenFiles(config: Config): Tried[] {
  const path = ['edge']
  const problem = openFilesProblem(config)
  if (problem !== null) return [{ path, result: 'failed', message: problem.replace(/^edge: /, '') }]
  return [{ path, result: 'good', message: `this process may open the ${neededFiles(config)} files that it may need` }]
}
