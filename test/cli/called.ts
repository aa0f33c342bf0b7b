import { format } from 'node:util'
import { vi } from 'vitest'
import { run } from '../../src/cli/run.ts'

interface Said {
  readonly code: number
  readonly stdout: string
  readonly stderr: string
}

/**
 * A command as the program runs it, but in this process: to start another one takes half a second of a core. That the program itself says
 * the same, and ends with this code, is shown once for each command.
 */
export async function called(name: string, ...args: string[]): Promise<Said> {
  const said = { stdout: '', stderr: '' }
  const lineTo =
    (stream: 'stdout' | 'stderr') =>
    (...parts: unknown[]) => {
      said[stream] += `${format(...parts)}\n`
    }
  const spies = [
    vi.spyOn(console, 'log').mockImplementation(lineTo('stdout')),
    vi.spyOn(console, 'error').mockImplementation(lineTo('stderr')),
    vi.spyOn(process.stdout, 'write').mockImplementation((text, ...rest) => {
      said.stdout += String(text)
      const done = rest.at(-1)
      if (typeof done === 'function') (done as () => void)()
      return true
    }),
  ]
  try {
    return { code: await run(name, args), ...said }
  } finally {
    for (const spy of spies) spy.mockRestore()
  }
}

/** The same, of a command that does what it is asked for. @throws what is said of one that does not */
export async function done(name: string, ...args: string[]): Promise<Said> {
  const said = await called(name, ...args)
  if (said.code !== 0) throw Object.assign(new Error(said.stderr), said)
  return said
}
