import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { describe, expect, it } from 'vitest'

const MACHINE = new URL('../../bench/machine.ts', import.meta.url).href

/** The lines that are printed by a session of its own. */
async function printed(script: string): Promise<string[]> {
  const { stdout } = await promisify(execFile)('setsid', ['-w', 'sh', '-c', script])
  return stdout.trim().split('\n')
}

const raise = `"${process.execPath}" -e "import('${MACHINE}').then(({ raisePriority }) => {
  console.log(raisePriority())
  console.log(String(require('fs').readFileSync('/proc/self/autogroup')).trim())
})"`
const nice = (line: string | undefined): string | undefined => / nice (.*)$/.exec(line ?? '')?.[1]

describe.runIf(process.platform === 'linux')('the priority of the benchmark', () => {
  it('the priority of the benchmark is raised until it ends, or said to be what it was', async () => {
    const [said, during, behind] = await printed(`${raise}; cat /proc/self/autogroup`)
    const raised = said === 'Its session has nice -20 (autogroup)'
    if (!raised) expect(said).toMatch(/could not be raised \(E[A-Z]+\)$|^Sessions are not weighed here/)
    expect([nice(during), nice(behind)]).toEqual([raised ? '-20' : '0', '0'])
  })

  it('the priority of the benchmark that a run left which was killed is the usual one behind the next', async () => {
    const lines = await printed(`(echo -20 > /proc/self/autogroup) 2>/dev/null; ${raise}; cat /proc/self/autogroup`)
    expect(nice(lines.at(-1))).toBe('0')
  })
})
