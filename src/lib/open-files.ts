import { readdirSync, readFileSync } from 'node:fs'

/** How many files this process may have open; `null` if unknown or without a limit. Node raises its limit to the hard one. */
export function openFilesLimit(): number | null {
  try {
    const [, soft] = /^Max open files +(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8')) ?? []
    return soft === undefined ? null : Number(soft)
  } catch {
    return null
  }
}

/**
 * How many files this process has open; `null` if the system does not say it. If no descriptor is free, the result is the limit.
 * @param limit as it was read before
 * @param look names the open files, among them the one that it opens itself
 */
export function openFiles(limit: number | null, look = () => readdirSync('/proc/self/fd')): number | null {
  try {
    return look().length - 1
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EMFILE' ? limit : null
  }
}
