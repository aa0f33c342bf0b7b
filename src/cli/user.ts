import { isKept, personOf } from '../admin/person.ts'
import { personOptions } from '../admin/routes/persons.ts'
import { COMMAND_LINE } from '../control/control-store.ts'
import { forgettingOf, nothingKeptOf } from '../control/forgetting.ts'
import { reason as checkReason } from '../control/problems.ts'
import { isUserId, USER_ID } from '../control/user-id.ts'
import { print } from '../lib/print.ts'
import type { Store } from '../store/store.ts'
import { type Loaded, openingOf, withStore } from './config.ts'
import { CONFIG_OPTION, type Given, readArguments } from './config-option.ts'
import { deskOf } from './desk.ts'
import { UsageError } from './usage-error.ts'

const OPTIONS = { ...CONFIG_OPTION, reason: { type: 'string' }, words: { type: 'boolean' } } as const

/** Prints or forgets what is kept of one user in the configured store, even without a running gateway. */
export async function user(args: readonly string[]): Promise<number> {
  const { values, positionals } = readArguments(args, OPTIONS)
  const work = workOf(positionals, values)
  return withStore(values.config, openingOf(positionals[0] === 'export'), work)
}

type Work = (store: Store, loaded: Loaded) => Promise<number>

function workOf([action, id, ...rest]: readonly string[], { reason, words = false }: Given<typeof OPTIONS>): Work {
  if (action !== 'export' && action !== 'forget') throw new UsageError('user takes export ID or forget ID')
  if (id === undefined || rest.length > 0) throw new UsageError(`user ${action} takes one ID`)
  if (!isUserId(id)) throw new UsageError(`user ${action} takes a user id: ${USER_ID}`)
  if (action === 'forget') {
    const [problem] = reason === undefined ? [] : checkReason(reason, '')
    if (problem !== undefined) throw new UsageError(`--reason ${problem.msg}`)
    return (store, loaded) => forget(store, loaded, id, { why: reason ?? null, words })
  }
  if (reason !== undefined) throw new UsageError('user export does not take --reason')
  if (words) throw new UsageError('user export does not take --words')
  return (store, loaded) => exportOne(store, loaded, id)
}

async function exportOne(store: Store, loaded: Loaded, id: string): Promise<number> {
  const person = await personOf(id, await personOptions(await deskOf(loaded, store)))
  await print(`${JSON.stringify(person, null, 2)}\n`)
  return 0
}

interface Forget {
  readonly why: string | null
  /** Whether the id is removed from reasons even if nothing else is kept of the user. */
  readonly words: boolean
}

async function forget(store: Store, loaded: Loaded, id: string, { why, words }: Forget): Promise<number> {
  if (!words && !(await isKept(id, await personOptions(await deskOf(loaded, store))))) {
    const cure = 'Check the id, or add --words to take it out of reasons where it stands as a word'
    console.error(`tollgate: ${nothingKeptOf(id)} ${cure}, which nobody can undo.`)
    return 1
  }
  const forgetting = forgettingOf(id)
  await store.change(forgetting, { who: COMMAND_LINE, why }, null)
  console.log(forgetting.alias)
  console.error('The user is forgotten. The audit has this name instead.')
  return 0
}
