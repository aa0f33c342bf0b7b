import { execFileSync } from 'node:child_process'
import { expect, it } from 'vitest'

const MODULE = new URL('../../src/node/full-workers.ts', import.meta.url).href

/** A cluster of one worker that takes one connection; prints what becomes of the second. */
const PROGRAM = `
import cluster from 'node:cluster'
import net from 'node:net'
import { closeAboveMaximum } from ${JSON.stringify(MODULE)}

if (cluster.isPrimary) {
  const worker = cluster.fork()
  worker.on('message', (port) => {
    const first = net.connect(port, '127.0.0.1', () => {
      const second = net.connect(port, '127.0.0.1')
      second.on('error', () => {})
      second.on('close', () => finish('closed'))
      if (process.env.CLOSES === 'no') setTimeout(finish, 500, 'kept')
    })
    first.on('error', () => {})
  })
  function finish(what) {
    console.log(what)
    worker.process.kill('SIGKILL')
    process.exit()
  }
} else {
  const server = net.createServer()
  server.maxConnections = 1
  if (process.env.CLOSES === 'yes') closeAboveMaximum(server)
  server.listen(0, '127.0.0.1', () => process.send(server.address().port))
}`

function fateOfSecond(closes: 'yes' | 'no'): string {
  const env = { ...process.env, CLOSES: closes }
  const url = `data:text/javascript,${encodeURIComponent(PROGRAM)}`
  return execFileSync(process.execPath, ['--input-type=module', '-e', PROGRAM, url], { env, encoding: 'utf8' }).trim()
}

it('a full worker closes a connection, which it would pass round for ever otherwise', () => {
  expect(fateOfSecond('yes')).toBe('closed')
  expect(fateOfSecond('no')).toBe('kept')
})
