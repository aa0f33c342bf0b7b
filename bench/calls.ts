import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Readable, Writable } from 'node:stream'
import { treeOf } from './cpu.ts'

/** A program that counts system calls of processes until SIGINT. */
interface Counter {
  readonly command: readonly string[]
  readonly optionsOf: (processes: readonly number[]) => readonly string[]
  /** Resolves when the counter counts. */
  readonly begin: (child: ChildProcess, processes: readonly number[]) => Promise<void>
  /** Finds the number in the output. */
  readonly total: RegExp
}

const COUNTERS: readonly Counter[] = [
  {
    command: ['perf', 'stat', '-e', 'raw_syscalls:sys_enter', '-x,'],
    // Attaching may take seconds, so perf counts only from a message on descriptor 3 on, which it confirms on 4.
    optionsOf: (processes) => ['--delay=-1', '--control=fd:3,4', '-p', processes.join()],
    begin: async ({ stdio: [, , , control, response] }) => {
      ;(control as Writable).write('enable\n')
      await once(response as Readable, 'data')
    },
    total: /^(\d+),.*raw_syscalls:sys_enter/m,
  },
  {
    command: ['strace', '-c', '-f'],
    optionsOf: (processes) => processes.flatMap((pid) => ['-p', `${pid}`]),
    begin: async ({ stderr }, processes) => {
      let text = ''
      for await (const chunk of (stderr as Readable).iterator({ destroyOnReturn: false })) {
        text += chunk
        if (text.split(' attached').length > processes.length) return
      }
    },
    total: /^\s*100\.00(?:\s+[\d.]+){1,2}\s+(\d+).*total$/m,
  },
]

/** How long a counter may take to begin, in milliseconds. One that takes longer is killed. */
const PATIENCE_MS = 30_000

/** Counts system calls of processes and their descendants during an action. Counting slows them, so nothing else is measured. */
export type CountCalls = (processes: readonly number[], action: () => Promise<unknown>) => Promise<number>

/** @returns `null` where neither perf nor strace can count here */
export function createCountCalls(folder: string): CountCalls | null {
  const counter = COUNTERS.find(({ command }) => canCount(command))
  const file = join(folder, 'calls')
  return counter === undefined ? null : (processes, action) => count(counter, file, processes.flatMap(treeOf), action)
}

const canCount = ([program = '', ...options]: readonly string[]): boolean =>
  spawnSync(program, [...options, 'true'], { stdio: 'ignore' }).status === 0

async function count(
  { command: [program = '', ...fixed], optionsOf, begin, total }: Counter,
  file: string,
  processes: readonly number[],
  action: () => Promise<unknown>,
): Promise<number> {
  const options = [...fixed, '-o', file, ...optionsOf(processes)]
  const child = spawn(program, options, { stdio: ['ignore', 'ignore', 'pipe', 'pipe', 'pipe'] })
  const exited = once(child, 'exit')
  const late = setTimeout(() => child.kill('SIGKILL'), PATIENCE_MS)
  try {
    await Promise.race([begin(child, processes), exited])
    clearTimeout(late)
    await action()
  } finally {
    clearTimeout(late)
    child.kill('SIGINT')
    await exited
  }
  const [, found] = total.exec(readFileSync(file, 'utf8')) ?? []
  if (found === undefined) throw new Error(`${program} counted no system calls`)
  return Number(found)
}
