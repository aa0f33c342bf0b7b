import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, openSync, readFileSync } from 'node:fs'
import { connect, createServer } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { treeOf } from './cpu.ts'

/** The system under test has one core to itself, and all loads the other. Lists of cores for taskset. */
export const TESTED_CORE = '0'
export const LOADING_CORE = '1'
export const BOTH_CORES = '0,1'

const STARTS_WITHIN_MS = 15_000
const ENDS_WITHIN_MS = 10_000

export interface Server {
  readonly pid: number
  stop(): Promise<void>
}

export interface ServerOptions {
  /** The cores, as a list for taskset. */
  readonly cores: string
  /** Loopback port that responds once the server is up. */
  readonly port: number
  /** File for its standard output and errors. */
  readonly output: string
}

const running = new Set<ChildProcess>()
process.on('exit', endAll)

/** Ends all servers, without SIGKILL, which would leave the workers of nginx behind. */
export function endAll(): void {
  for (const child of running) child.kill('SIGTERM')
}

/** Starts a server on some cores and waits for its port. `taskset` becomes the command, so the pid is the server's. */
export async function startServer(command: readonly string[], { cores, port, output }: ServerOptions): Promise<Server> {
  const fd = openSync(output, 'a')
  const child = spawn('taskset', ['-c', cores, ...command], { stdio: ['ignore', fd, fd] })
  closeSync(fd)
  running.add(child)
  child.once('exit', () => running.delete(child))
  const until = Date.now() + STARTS_WITHIN_MS
  while (!(await responses(port))) {
    if (child.exitCode !== null || Date.now() > until) {
      throw new Error(`${command.join(' ')} did not start:\n${readFileSync(output, 'utf8').slice(-2000)}`)
    }
    await sleep(5)
  }
  return { pid: child.pid as number, stop: () => end(child) }
}

async function end(child: ChildProcess): Promise<void> {
  if (!running.has(child)) return
  const exited = once(child, 'exit')
  child.kill('SIGTERM')
  const timer = setTimeout(() => {
    for (const pid of treeOf(child.pid as number)) process.kill(pid, 'SIGKILL')
  }, ENDS_WITHIN_MS)
  await exited
  clearTimeout(timer)
}

function responses(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1')
    const done = (yes: boolean) => () => {
      socket.destroy()
      resolve(yes)
    }
    socket.once('connect', done(true)).once('error', done(false))
  })
}

export async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as { port: number }
  server.close()
  await once(server, 'close')
  return port
}

/** Starts a program of Node that receives messages. */
export function startProgram(file: string, cores: string): ChildProcess {
  const stdio = ['ignore', 'inherit', 'inherit', 'ipc'] as const
  const child = spawn('taskset', ['-c', cores, process.execPath, file], { stdio: [...stdio] })
  running.add(child)
  child.once('exit', () => running.delete(child))
  return child
}

/** Runs a load generator to its end and returns its standard output. @throws Error that says how it failed */
export async function run(command: readonly string[], cores: string, limitMs: number): Promise<string> {
  const child = spawn('taskset', ['-c', cores, ...command], { stdio: ['ignore', 'pipe', 'inherit'] })
  running.add(child)
  let late = false
  const timer = setTimeout(() => {
    late = true
    child.kill('SIGKILL')
  }, limitMs)
  const exited = once(child, 'close')
  let text = ''
  child.stdout.setEncoding('utf8').on('data', (chunk: string) => {
    text += chunk
  })
  const [code, signal] = (await exited) as [number | null, string | null]
  clearTimeout(timer)
  running.delete(child)
  const how = late ? `was killed, because it did not end within ${limitMs / 1000} s` : `ended with ${code ?? signal}`
  if (code !== 0) throw new Error(`${command[0]} ${how}: ${text.slice(-500)}`)
  return text
}
