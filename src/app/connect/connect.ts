import type { Config } from '../../config/config.ts'
import { kindOf } from '../store-kinds/kinds.ts'
import { tryCollector } from './collector.ts'
import { tryAddresses, tryOpenFiles } from './here.ts'
import { tryPeople } from './people.ts'
import { tryIntrospection, tryIssuers } from './providers.ts'
import { tryService } from './service.ts'
import type { Tried } from './tried.ts'

/** Tries one thing, in a few seconds. */
export type Trial = (config: Config) => Promise<Tried[]>

const TRIALS: readonly Trial[] = [
  ({ store }) => kindOf(store.location).tried(store),
  tryIssuers,
  tryIntrospection,
  tryPeople,
  tryService,
  tryCollector,
  tryAddresses,
  async (config) => tryOpenFiles(config),
]

/**
 * Tries all that a gateway of this configuration needs of other machines and of this one, at the same time. Nothing that stays is written
 * anywhere.
 */
export async function tryConnections(config: Config): Promise<Tried[]> {
  const all = await Promise.all(TRIALS.map((trial) => trial(config)))
  return all.flat()
}
