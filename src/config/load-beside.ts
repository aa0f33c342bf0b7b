import { once } from 'node:events'
import { extname } from 'node:path'
import { Worker } from 'node:worker_threads'
import type { RouteConfig } from './config.ts'
import { type LoadResult, loadConfig } from './load.ts'
import type { Parts } from './parts.ts'
import type { Environment } from './substitute.ts'

const THREAD = new URL(`./load-thread${extname(import.meta.filename)}`, import.meta.url)

/** What the thread gets at its start. */
export interface ThreadData {
  readonly file: string
  readonly env: Environment
}

/** The thread's first message: the result without its rules, and the number of parts in which these follow. */
export interface FromThread {
  readonly result: LoadResult
  readonly parts: number
}

/**
 * Like `loadConfig`, in a thread. Reading many rules takes much CPU, and the thread takes its memory with it when it ends. The
 * `outline` of the result lacks the rules. If the thread cannot be started or ends too early, the calling thread reads the file.
 * @param thread the program of the thread. Default `load-thread.ts`
 */
export async function loadBeside(file: string, env: Environment, thread = THREAD): Promise<LoadResult> {
  try {
    return await fromThread(new Worker(thread, { workerData: { file, env: { ...env } } satisfies ThreadData }))
  } catch {
    return loadConfig(file, env)
  }
}

/** @throws Error if the thread ends too early */
async function fromThread(thread: Worker): Promise<LoadResult> {
  const ended = once(thread, 'exit').then(([code]) => Promise.reject(new Error(`the thread ended with ${code}`)))
  // The thread also ends after its last message, when nobody waits for `ended` any more.
  ended.catch(() => {})
  const next = async <T>(): Promise<T> => (await Promise.race([once(thread, 'message'), ended]))[0]
  try {
    const { result, parts } = await next<FromThread>()
    if (!result.ok) return result
    const routes: RouteConfig[] = []
    for (let part = 0; part < parts; part++) {
      thread.postMessage('next')
      routes.push(...(await next<Parts['rules'][number]>()))
    }
    return { ...result, config: { ...result.config, routes } }
  } finally {
    await thread.terminate()
  }
}
