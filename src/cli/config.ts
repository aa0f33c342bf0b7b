import { SetupError } from '../app/setup-error.ts'
import { kindOf } from '../app/store-kinds/kinds.ts'
import { openStore, openStoreToLook, problemOf } from '../app/stores.ts'
import { AuthSetupError } from '../auth/authenticator.ts'
import type { StoreLocation } from '../config/config.ts'
import { type LoadResult, loadConfig, problemAt } from '../config/load.ts'
import { formatProblems } from '../config/problems.ts'
import { messageOf } from '../errors.ts'
import type { Store } from '../store/store.ts'
import { configFile } from './config-option.ts'

export type Loaded = Extract<LoadResult, { ok: true }>

/** Loads a configuration and prints problems and warnings to standard error. `null` if it has problems. */
export async function loadOrReport(file: string): Promise<Loaded | null> {
  const loaded = await loadConfig(file, process.env)
  const problems = [...(loaded.ok ? [] : loaded.problems), ...loaded.warnings]
  if (problems.length > 0) console.error(formatProblems(problems))
  return loaded.ok ? loaded : null
}

/** A place named by the authenticator, `auth.jwt[1].jwks: what is wrong`, which becomes a line of the file. */
const PLACE = /^auth\.jwt\[(\d+)\]\.(\w+): (.*)$/s

/** The text of an error from building the parts of a gateway, in the form of the problems of its file. */
export function setupProblem(error: unknown, loaded: Loaded): string {
  if (error instanceof SetupError) return formatProblems([problemAt(loaded, error.path, error.message)])
  if (!(error instanceof AuthSetupError)) return `${loaded.config.file}: ${messageOf(error)}`
  const problems = error.problems.map((problem) => {
    const [, index, key, message] = PLACE.exec(problem) ?? []
    const path = index === undefined || key === undefined ? ['auth'] : ['auth', 'jwt', Number(index), key]
    return problemAt(loaded, path, message ?? problem)
  })
  return formatProblems(problems)
}

/** Waits for something that uses a configuration. @throws Error with the place in the configuration that is to blame */
export async function orReportWhere<T>(loaded: Loaded, made: Promise<T>): Promise<T> {
  return made.catch((error: unknown) => {
    throw new Error(setupProblem(error, loaded), { cause: error })
  })
}

/** For commands that cannot use an empty store. @throws Error with the whole path, if the file of the store does not exist */
export function insistOnStore(loaded: Loaded): void {
  const { location } = loaded.config.store
  if (!kindOf(location).isYetToBeMade(location)) return
  const cure = 'start the gateway, which makes it, run the command in its folder, or name the whole path'
  throw new Error(formatProblems([problemAt(loaded, ['store'], `there is no file ${nameOf(location)}: ${cure}`)]))
}

export function nameOf(location: StoreLocation): string {
  return kindOf(location).name(location)
}

const PATIENCE_MS = 3000

/**
 * Waits up to 3 seconds for a Redis store, which connects in the background.
 * @param named where the store is configured, for the message
 * @throws Error if the store cannot be used by then
 */
export async function reachable(store: Pick<Store, 'ping'>, named = '"store" in the configuration'): Promise<void> {
  const problem = await problemOf(store, PATIENCE_MS)
  if (problem !== null) throw new Error(`the store cannot be used (${problem}): check ${named}`)
}

/** @param toLook whether the command changes nothing in the store */
export function openingOf(toLook: boolean): (loaded: Loaded) => Promise<Store> {
  return ({ config: { store } }) => (toLook ? openStoreToLook(store) : openStore(store, () => {}))
}

/**
 * Does some work on the configured store, and closes it at the end.
 * @param file as given with `--config`
 * @returns the exit code of the work; 1 if the configuration has problems, which are printed
 * @throws Error with the place in the configuration that is to blame
 */
export async function withStore(
  file: string | undefined,
  open: (loaded: Loaded) => Promise<Store>,
  work: (store: Store, loaded: Loaded) => Promise<number>,
): Promise<number> {
  const loaded = await loadOrReport(configFile(file))
  if (loaded === null) return 1
  insistOnStore(loaded)
  return inStore(loaded, open(loaded), work)
}

/** Waits until a store is open, does some work on it, and closes it at the end. */
export async function inStore<T>(
  loaded: Loaded,
  opening: Promise<Store>,
  work: (store: Store, loaded: Loaded) => Promise<T>,
): Promise<T> {
  const store = await orReportWhere(loaded, opening)
  try {
    await reachable(store)
    return await work(store, loaded)
  } finally {
    await store.close()
  }
}
