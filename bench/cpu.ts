import { readdirSync, readFileSync, writeFileSync } from 'node:fs'

/** CPU time of a process and all its descendants so far, in nanoseconds, all threads together. */
export function cpuTime(pid: number): number {
  return treeOf(pid).reduce((sum, each) => sum + account(each, 0), 0)
}

/**
 * How long a process and its descendants were ready to run and waited for a core, in nanoseconds. If the load leaves core time free, a long wait
 * means that something else used it.
 */
export function waitTime(pid: number): number {
  return treeOf(pid).reduce((sum, each) => sum + account(each, 1), 0)
}

/** The scheduler's account of a process: time on a core (0) or waiting (1), in nanoseconds. utime and stime have ticks of 10 ms. */
function account(pid: number, field: 0 | 1): number {
  return threadsOf(pid)
    .map((thread) => Number(readFileSync(`${thread}/schedstat`, 'utf8').split(' ')[field]))
    .reduce((sum, time) => sum + time, 0)
}

/** How often the threads have left a core so far. */
export interface Switches {
  /** The threads had nothing to do: each time is followed by a wake-up. */
  readonly waited: number
  /** Another thread got the core. */
  readonly preempted: number
}

export function switchesOf(pid: number): Switches {
  const texts = treeOf(pid).flatMap((each) => threadsOf(each).map((thread) => readFileSync(`${thread}/status`, 'utf8')))
  const sum = (field: string): number => texts.reduce((all, text) => all + numberIn(text, field), 0)
  return { waited: sum('voluntary_ctxt_switches'), preempted: sum('nonvoluntary_ctxt_switches') }
}

/** Memory of a process and all its descendants, in bytes. */
export interface Memory {
  readonly resident: number
  /** Pages that several processes share count for each in part. */
  readonly proportional: number
}

export function memoryOf(pid: number): Memory {
  const texts = treeOf(pid).map((each) => readFileSync(`/proc/${each}/smaps_rollup`, 'utf8'))
  const sum = (field: string): number => texts.reduce((all, text) => all + numberIn(text, field) * 1024, 0)
  return { resident: sum('Rss'), proportional: sum('Pss') }
}

/** A field of a file below /proc. */
const numberIn = (text: string, field: string): number =>
  Number(new RegExp(`^${field}:\\s+(\\d+)`, 'm').exec(text)?.[1])

function threadsOf(pid: number): string[] {
  return readdirSync(`/proc/${pid}/task`).map((thread) => `/proc/${pid}/task/${thread}`)
}

/** A process and its descendants, for example the workers of nginx. */
export function treeOf(pid: number): number[] {
  const children = threadsOf(pid).flatMap((thread) => words(`${thread}/children`))
  return [pid, ...children.map(Number).flatMap(treeOf)]
}

const words = (file: string): string[] => readFileSync(file, 'utf8').split(' ').filter(Boolean)

/** Resident memory of a process in bytes: now, and the most since `forgetPeak`. Descendants are not counted. */
export function residentMemory(pid: number): { now: number; peak: number } {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8')
  const of = (field: string): number => numberIn(status, field) * 1024
  return { now: of('VmRSS'), peak: of('VmHWM') }
}

export function forgetPeak(pid: number): void {
  writeFileSync(`/proc/${pid}/clear_refs`, '5')
}

/**
 * Watches the other work of the machine. The returned function gives the share of all cores that went to other
 * processes than ours, and to other machines on the same host, since the watch began.
 */
export function watchOthers(): () => number {
  const before = snapshot()
  return () => {
    const after = snapshot()
    const others = after.busy - before.busy - (after.ours - before.ours)
    return Math.max(0, others / (after.all - before.all))
  }
}

/** CPU time in ticks. `ours` is that of this process, of its descendants, and of those that have ended. */
function snapshot(): { all: number; busy: number; ours: number } {
  const [user = 0, nice = 0, system = 0, idle = 0, io = 0, irq = 0, softirq = 0, steal = 0] = words('/proc/stat')
    .slice(1, 9)
    .map(Number)
  const busy = user + nice + system + irq + softirq + steal
  return { all: busy + idle + io, busy, ours: treeOf(process.pid).reduce((sum, pid) => sum + ticksOf(pid), 0) }
}

/** utime, stime, cutime and cstime: fields 14 to 17 of proc(5), counted after the name, which may hold any characters. */
function ticksOf(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  return fields.slice(11, 15).reduce((sum, field) => sum + Number(field), 0)
}
