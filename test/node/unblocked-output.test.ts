import { execFileSync } from 'node:child_process'
import { closeSync, fstatSync, openSync, readFileSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { unblocked } from '../../src/node/unblocked-output.ts'
import { tempFolder } from '../setup/at-end.ts'

const O_NONBLOCK = 0o4000

let folder: string
let fds: number[]
beforeEach(() => {
  folder = tempFolder()
  fds = []
})
afterEach(() => {
  for (const fd of new Set(fds)) closeSync(fd)
})

function keep(fd: number): number {
  fds.push(fd)
  return fd
}

const isBlocking = (fd: number): boolean => {
  const [, flags = ''] = /^flags:\s+(\d+)/m.exec(readFileSync(`/proc/self/fdinfo/${fd}`, 'utf8')) ?? []
  return (Number.parseInt(flags, 8) & O_NONBLOCK) === 0
}

it('a full pipe says so and keeps nobody waiting, and whoever else has it waits as before', () => {
  const path = join(folder, 'pipe')
  execFileSync('mkfifo', [path])
  // Open for reading as well, so that it needs no other process.
  const given = keep(openSync(path, 'r+'))
  const ours = keep(unblocked(given))
  expect(ours).not.toBe(given)
  // A write that waits would hold this test up for ever.
  expect([isBlocking(given), isBlocking(ours)]).toEqual([true, false])
  expect(() => {
    for (;;) writeSync(ours, Buffer.alloc(65_536))
  }).toThrow('EAGAIN')
})

it('a file is written as it is', () => {
  const given = keep(openSync(join(folder, 'log'), 'a'))
  expect(unblocked(given)).toBe(given)
  writeSync(given, 'a line\n')
  expect(fstatSync(given).size).toBe(7)
})

it('a socket is the same, and a full one keeps nobody waiting', () => {
  const program = `
const { unblocked } = await import(${JSON.stringify(new URL('../../src/node/unblocked-output.ts', import.meta.url).href)})
const { writeSync } = await import('node:fs')
if (unblocked(9) !== 9) throw new Error('another descriptor')
try { for (;;) writeSync(9, Buffer.alloc(65_536)) } catch ({ code }) { console.log(code) }
process.exit()`
  // A socket pair whose other end nobody reads.
  const python = `import os, socket, subprocess, sys
ours, theirs = socket.socketpair()
os.dup2(theirs.fileno(), 9)
subprocess.run(sys.argv[1:], pass_fds=[9], check=True)`
  const node = [process.execPath, '--input-type=module', '-e', program]
  expect(execFileSync('python3', ['-c', python, ...node], { encoding: 'utf8', timeout: 60_000 })).toBe('EAGAIN\n')
})
