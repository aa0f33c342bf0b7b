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
 * Tries everything that a gateway with this configuration needs from other machines and from this one, all at the same time. It leaves
 * nothing behind.
 */
export async function tryConnections(config: Config): Promise<Tried[]> {
  const all = await Promise.all(TRIALS.map((trial) => trial(config)))
  return all.flat()
}
