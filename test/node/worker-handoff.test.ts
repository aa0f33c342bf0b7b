import { execFileSync } from 'node:child_process'
import { expect, it } from 'vitest'

const MODULE = new URL('../../src/node/worker-handoff.ts', import.meta.url).href

/** Prints what becomes of a client whose connection is on its way to a worker that dies. */
const PROGRAM = `
import cluster from 'node:cluster'
import net from 'node:net'
import { closeUntaken } from ${JSON.stringify(MODULE)}

if (cluster.isPrimary) {
  cluster.schedulingPolicy = cluster.SCHED_RR
  const worker = cluster.fork()
  if (process.env.CLOSES === 'yes') closeUntaken(worker.process)
  worker.on('message', (port) => {
    process.kill(worker.process.pid, 'SIGSTOP')
    const client = net.connect(port, '127.0.0.1')
    client.on('error', () => {})
    client.on('close', () => finish('closed'))
    // By the turn of a timer the primary has taken the connection and has begun to hand it over.
    client.on('connect', () => setTimeout(() => worker.process.kill('SIGKILL'), 50))
    if (process.env.CLOSES === 'no') worker.process.on('exit', () => setTimeout(finish, 500, 'open'))
  })
  function finish(what) {
    console.log(what)
    process.exit()
  }
} else {
  const server = net.createServer()
  server.listen(0, '127.0.0.1', () => process.send(server.address().port))
}`

function fateOfClient(closes: 'yes' | 'no'): string {
  const env = { ...process.env, CLOSES: closes }
  const url = `data:text/javascript,${encodeURIComponent(PROGRAM)}`
  return execFileSync(process.execPath, ['--input-type=module', '-e', PROGRAM, url], { env, encoding: 'utf8' }).trim()
}

it('a connection on its way to a worker that dies is closed, which would stay open for ever otherwise', () => {
  expect(fateOfClient('yes')).toBe('closed')
  expect(fateOfClient('no')).toBe('open')
})
