import { parseArgs } from 'node:util'
import { type App, createApp } from '../app/app.ts'
import { loadBeside } from '../config/load-beside.ts'
import { formatProblems, type Problem } from '../config/problems.ts'
import { watchConfig } from '../config/watch.ts'
import { version } from '../lib/version.ts'
import type { Observer, Witness } from '../observe/observation.ts'
import { createPrimary } from '../workers/primary.ts'
import { workerCount } from '../workers/share.ts'
import { type Loaded, loadOrReport, orReportWhere, setupProblem } from './config.ts'
import { CONFIG_OPTION, configFile } from './config-option.ts'
import { linkFor, type Started } from './sign-in-link.ts'

export async function serve(args: readonly string[]): Promise<number> {
  const { values } = parseArgs({ args: [...args], options: CONFIG_OPTION })
  return serveFile(configFile(values.config), (running) => {
    const link = linkFor(process.stderr, running)
    if (link !== null) console.error(`Dashboard: ${link}   (sign-in link: good once, for 10 minutes)`)
  })
}

export interface ServeOptions {
  /** Reads the file at the start and prints problems; `null` if it cannot be used. Default `loadOrReport`. */
  readonly load?: (file: string) => Promise<Loaded | null>
  /** Is called with each request and its target. Default none. */
  readonly witness?: Witness
  /** Another reader of the observations. Default none. */
  readonly observe?: Observer
}

/** Runs the gateway of a configuration file until a signal ends it. */
export async function serveFile(
  file: string,
  started: (running: Started) => void | Promise<void>,
  { load = loadOrReport, witness, observe }: ServeOptions = {},
): Promise<number> {
  // Listening comes first of all, because a signal without a listener would be ignored in the first process of a container.
  let app: App | null = null
  const ended = hearEnds((signal) => endAtOnce(app, signal))
  const onHangup = hearHangups()
  const loaded = await load(file)
  if (loaded === null) return 1
  const create = workerCount(loaded.config) === 1 ? createApp : createPrimary
  const made = await orReportWhere(
    loaded,
    create({ config: loaded.config, hash: loaded.hash, version, witness, observe }),
  )
  app = made
  const urls = await orReportWhere(loaded, made.start()).catch(async (error: unknown) => {
    await made.stop()
    throw error
  })
  const reread = rereader(file, made)
  const watch = watchConfig(file, reread, { loadedHash: loaded.textHash })
  onHangup(reread)
  try {
    await started({ ...urls, signInCode: made.signInCode })
    await ended
  } finally {
    watch.close()
    onHangup(() => {})
    await made.stop()
  }
  return 0
}

/**
 * Listens to SIGHUP for the whole life of the process. Without a listener a SIGHUP would end it during its start, drain
 * or end.
 * @returns sets the function that SIGHUP calls, and calls it at once if a SIGHUP has come already
 */
function hearHangups(): (reread: () => void) => void {
  let missed = false
  let heeded = (): void => {
    missed = true
  }
  process.on('SIGHUP', () => heeded())
  // Node's own end removes the listener some milliseconds before the process is gone (26.10).
  process.once('beforeExit', () => process.exit())
  return (reread) => {
    heeded = reread
    if (missed) reread()
    missed = false
  }
}

/**
 * Ctrl-C and `timeout` signal a whole group of processes, and npm forwards its own signal. A second signal within this
 * time is the same one.
 */
const SAME_MS = 300

/** Waits for the first SIGTERM or SIGINT. @param again is called for each later signal that counts as a second one */
function hearEnds(again: (signal: NodeJS.Signals) => void): Promise<void> {
  return new Promise((resolve) => {
    let first: number | null = null
    for (const signal of ['SIGTERM', 'SIGINT'] as const) {
      process.on(signal, () => {
        first ??= performance.now()
        if (performance.now() - first > SAME_MS) again(signal)
        resolve()
      })
    }
  })
}

/** @param app `null` if there is none yet */
function endAtOnce(app: App | null, signal: NodeJS.Signals): never {
  console.error(`tollgate: ${signal} for the second time: ended at once`)
  app?.abandon()
  process.exit(1)
}

/** Makes a function that reads the file again, one reading at a time. The last change always wins. */
function rereader(file: string, app: App): () => void {
  let running: Promise<void> = Promise.resolve()
  async function reread(): Promise<void> {
    const loaded = await loadBeside(file, process.env)
    if (!loaded.ok) return app.reject(file, linesOf(loaded.problems))
    try {
      await app.reload(loaded.config, loaded.hash, linesOf(loaded.warnings))
    } catch (error) {
      app.reject(file, [setupProblem(error, loaded)])
    }
  }
  return () => {
    running = running.then(reread)
  }
}

function linesOf(problems: readonly Problem[]): string[] {
  return problems.map((problem) => formatProblems([problem]))
}
