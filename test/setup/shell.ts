import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'

/** One bash that lives through all commands of a document, so that variables, functions and background jobs stay. */
export interface Shell {
  /** Runs a command, which may have several lines. @returns both outputs, as a terminal would show them */
  run(command: string): Promise<string>
  /** Ends it and everything that it started. */
  close(): Promise<void>
}

const MARK = '---the-end-of-a-command---'

export function startShell(cwd: string, env: NodeJS.ProcessEnv): Shell {
  // A process group of its own: jobs in the background end with it.
  const shell = spawn('bash', ['-s'], { cwd, env, detached: true, stdio: ['pipe', 'pipe', 'inherit'] })
  const ended = once(shell, 'exit')
  return {
    run: (command) => runIn(shell, command),
    close: async () => {
      if (shell.exitCode === null && shell.signalCode === null) process.kill(-(shell.pid ?? 0), 'SIGTERM')
      await ended
    },
  }
}

async function runIn({ stdin, stdout }: ChildProcess, command: string): Promise<string> {
  if (stdin === null || stdout === null) throw new Error('no shell')
  let output = ''
  const ended = new Promise<void>((done) => {
    const read = (chunk: Buffer): void => {
      output += chunk.toString()
      if (!output.includes(MARK)) return
      stdout.off('data', read)
      done()
    }
    stdout.on('data', read)
  })
  stdin.write(`{ ${command.replace(/;$/, '')}\n} 2>&1\necho ${MARK}\n`)
  await ended
  return output.replace(`${MARK}\n`, '')
}
