import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, openSync, readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'

/** How long a process may take to end by itself. */
const PATIENCE = 15_000
/** Of its log, in an error. */
const LINES = 15

/** Processes that end together, the last started first. */
export interface Processes {
  /** Starts one that goes on until the end. @param log the file that gets what it writes */
  start(command: string, args: readonly string[], log: string): void
  /** @throws Error with the end of the log of a process that has ended */
  check(): void
  stop(): Promise<void>
}

interface Started {
  readonly child: ChildProcess
  readonly name: string
  readonly log: string
}

export function startsProcesses(): Processes {
  const all: Started[] = []
  // Whatever ends the tests.
  process.once('exit', () => {
    for (const { child } of all) child.kill('SIGKILL')
  })
  return {
    start(command, args, log) {
      const file = openSync(log, 'w')
      all.push({ child: spawn(command, args, { stdio: ['ignore', file, file] }), name: args[0] ?? command, log })
      closeSync(file)
    },
    check() {
      const ended = all.find(({ child }) => hasEnded(child))
      if (ended !== undefined) throw new Error(`${ended.name} has ended:\n${lastLines(ended.log)}`)
    },
    async stop() {
      for (const { child } of all.toReversed()) await end(child)
    },
  }
}

async function end(child: ChildProcess): Promise<void> {
  if (hasEnded(child)) return
  const exited = once(child, 'exit')
  child.kill('SIGTERM')
  await Promise.race([exited, sleep(PATIENCE, undefined, { ref: false })])
  if (hasEnded(child)) return
  child.kill('SIGKILL')
  await exited
}

const hasEnded = ({ exitCode, signalCode }: ChildProcess): boolean => exitCode !== null || signalCode !== null

function lastLines(file: string): string {
  return readFileSync(file, 'utf8').trim().split('\n').slice(-LINES).join('\n')
}
