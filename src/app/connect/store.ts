import { resolve } from 'node:path'
import type { Config } from '../../config/config.ts'
import type { StoreWarning } from '../../observe/observation.ts'
import { StoreError } from '../../quota/quota-store.ts'
import type { Inspected } from '../../store/redis/inspect.ts'
import { whyUnusable } from '../../store/sqlite/unusable.ts'
import { SetupError } from '../setup-error.ts'
import { accessOf } from '../stores.ts'
import { failed, type Tried } from './tried.ts'

const PATH = ['store']
/** As the gateway warns of it, in milliseconds. */
const APART_MS = 5000
/** With these a gateway would count wrongly, or not at all. */
const HARMFUL: ReadonlySet<StoreWarning> = new Set(['old_version', 'eviction', 'copy_unended'])

/** Whether the store lets us in and can take charges. */
export async function tryStore({ store }: Config): Promise<Tried[]> {
  const { location, prefix, deadlineMs } = store
  if (location.kind === 'sqlite') {
    const unusable = await whyUnusable(location.path)
    const good = location.path === ':memory:' ? 'is in memory' : `${resolve(location.path)} can be written`
    const message = unusable ?? good
    return [{ path: PATH, result: unusable === null ? 'good' : 'failed', message }]
  }
  try {
    const access = accessOf(store)
    if (access === null) throw new Error('a Redis without access')
    const { inspectRedis } = await import('../../store/redis/inspect.ts')
    return redisTried(await inspectRedis({ ...access, prefix, deadlineMs }))
  } catch (error) {
    if (!(error instanceof StoreError)) return [failed(error)]
    return [failed(new SetupError(PATH, withCure(error.message), error))]
  }
}

/** What says nothing to do is about the way to it. */
function withCure(message: string): string {
  return message.includes('Cure: ')
    ? message
    : `${message}. Cure: correct host and port under store, and let this machine reach them`
}

function redisTried({ version, evictionPolicy, warnings, clockAheadMs }: Inspected): Tried[] {
  const tried = [...warnings].map(
    ([warning, message]): Tried => ({ path: PATH, result: HARMFUL.has(warning) ? 'failed' : 'warning', message }),
  )
  const apart = Math.round(clockAheadMs)
  if (Math.abs(clockAheadMs) > APART_MS) {
    const message = `its clock is ${apart} ms ahead of that of this machine: set both by NTP, or JWTs and windows end at wrong times`
    tried.push({ path: PATH, result: 'failed', message })
  }
  if (tried.some(({ result }) => result === 'failed')) return tried
  const facts = [
    ...(version === null ? [] : [`Redis ${version}`]),
    'lets us in, runs the script of charges and takes writes',
    ...(evictionPolicy === null ? [] : [`maxmemory-policy ${evictionPolicy}`]),
    `clock ${apart} ms from ours`,
  ]
  return [{ path: PATH, result: 'good', message: facts.join(', ') }, ...tried]
}
