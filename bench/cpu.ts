import { readdirSync, readFileSync } from 'node:fs'

/**
 * CPU time of a process so far, in nanoseconds, all its threads together. The scheduler's own account: utime and stime
 * count in ticks of 10 ms.
 */
export function cpuTime(pid: number): number {
  return readdirSync(`/proc/${pid}/task`)
    .map((thread) => Number(readFileSync(`/proc/${pid}/task/${thread}/schedstat`, 'utf8').split(' ')[0]))
    .reduce((sum, time) => sum + time, 0)
}

/** Direct children of a process, for example the workers of nginx. */
export function childrenOf(pid: number): number[] {
  const text = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim()
  return text === '' ? [] : text.split(' ').map(Number)
}
