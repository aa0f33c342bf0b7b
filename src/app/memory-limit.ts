const MIB = 1024 * 1024
/** With less memory a burst of uploads may end the process: 40 of 8 MB each took 152 MB beside other requests (Node 26.10). */
const LEAST = 256 * MIB

/**
 * Why this process may run out of memory; `null` if it may not.
 * @param limit of its cgroup in bytes. Default: the value of the system, which is 0 or a huge number if the cgroup has no limit
 */
export function memoryProblem(limit = process.constrainedMemory()): string | null {
  if (limit === 0 || limit >= LEAST) return null
  return `this process may use ${Math.floor(limit / MIB)} MiB of memory, by its container or cgroup: below ${LEAST / MIB} MiB a burst of uploads may end it; raise the limit (resources.limits.memory, --memory, MemoryMax)`
}
