import { parseArgs } from 'node:util'
import { personOf } from '../admin/person.ts'
import { openStore, openStoreToLook } from '../app/stores.ts'
import { createChangeFollower } from '../control/change-follower.ts'
import { COMMAND_LINE } from '../control/control-store.ts'
import { forgettingOf } from '../control/forgetting.ts'
import { asOverrides } from '../control/overrides.ts'
import { reason as checkReason } from '../control/problems.ts'
import { resolve } from '../control/settings.ts'
import { isUserId, USER_ID } from '../control/user-id.ts'
import { print } from '../lib/print.ts'
import { createPolicy } from '../quota/policy.ts'
import type { Store } from '../store/store.ts'
import { type Loaded, withStore } from './config.ts'
import { CONFIG_OPTION } from './config-option.ts'
import { UsageError } from './usage-error.ts'

const OPTIONS = { ...CONFIG_OPTION, reason: { type: 'string' } } as const

/** What is kept of one user, out of the store of the configuration: also where no gateway runs. */
export async function user(args: readonly string[]): Promise<number> {
  const { values, positionals } = parseArgs({ args: [...args], allowPositionals: true, options: OPTIONS })
  const work = workOf(positionals, values.reason)
  const isExport = positionals[0] === 'export'
  const open = ({ config: { store } }: Loaded) => (isExport ? openStoreToLook(store) : openStore(store, () => {}))
  return withStore(values.config, open, work)
}

type Work = (store: Store, loaded: Loaded) => Promise<number>

function workOf([action, id, ...rest]: readonly string[], reason: string | undefined): Work {
  if (action !== 'export' && action !== 'forget') throw new UsageError('user takes export ID or forget ID')
  if (id === undefined || rest.length > 0) throw new UsageError(`user ${action} takes one ID`)
  if (!isUserId(id)) throw new UsageError(`user ${action} takes a user id: ${USER_ID}`)
  if (action === 'forget') {
    const [problem] = reason === undefined ? [] : checkReason(reason, '')
    if (problem !== undefined) throw new UsageError(`--reason ${problem.msg}`)
    return (store) => forget(store, id, reason ?? null)
  }
  if (reason !== undefined) throw new UsageError('user export does not take --reason')
  return (store, loaded) => exportOne(store, loaded, id)
}

async function exportOne(store: Store, { config }: Loaded, id: string): Promise<number> {
  const state = await createChangeFollower({ store, observe: () => {} }).fresh()
  const policy = createPolicy(resolve(config.quota, state.settings.value).settings, 1, asOverrides(state))
  const alerts = config.alerts.map(({ name }) => name)
  const person = await personOf(id, { store, state, policy, alerts })
  await print(`${JSON.stringify(person, null, 2)}\n`)
  return 0
}

async function forget(store: Store, id: string, why: string | null): Promise<number> {
  const forgetting = forgettingOf(id)
  await store.change(forgetting, { who: COMMAND_LINE, why }, null)
  console.log(forgetting.alias)
  console.error('The user is forgotten. The audit has this name instead.')
  return 0
}
