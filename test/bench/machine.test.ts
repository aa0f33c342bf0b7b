import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { promisify } from 'node:util'
import { describe, expect, it } from 'vitest'

const MACHINE = new URL('../../bench/machine.ts', import.meta.url).href
const mayRaise = process.getuid?.() === 0 && existsSync('/proc/self/autogroup')

/** What each of the lines says that a session of its own prints. */
async function printed(script: string): Promise<string[]> {
  const { stdout } = await promisify(execFile)('setsid', ['-w', 'sh', '-c', script])
  return stdout.trim().split('\n')
}

const raise = `"${process.execPath}" -e "import('${MACHINE}').then(({ raisePriority }) => {
  console.log(raisePriority())
  require('fs').existsSync('/proc/self/autogroup') && console.log(require('fs').readFileSync('/proc/self/autogroup', 'utf8').trim())
})"`

describe.runIf(process.platform === 'linux')('the priority of the benchmark', () => {
  if (mayRaise) {
    it('is raised while it runs, and as before behind it', async () => {
      const lines = await printed(`${raise}; cat /proc/self/autogroup`)
      expect(lines[0]).toBe('Goes before other work on the machine (nice -20)')
      expect(lines[1]).toMatch(/ nice -20$/)
      expect(lines[2]).toMatch(/ nice 0$/)
    })
  } else {
    it('is left where it was, and that is told, for who may not raise it', async () => {
      const [said] = await printed(raise)
      expect(said).toMatch(/^Other work on the machine goes alongside: \/proc\/self\/autogroup needs root \(E[A-Z]+\)$/)
    })
  }
})
