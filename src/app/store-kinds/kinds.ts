import type { StoreConfig } from '../../config/config.ts'
import type { LocationOf, StoreKind } from './kind.ts'
import { redis } from './redis.ts'
import { sqlite } from './sqlite.ts'

type Kinds = { readonly [K in StoreConfig['location']['kind']]: StoreKind<LocationOf<K>> }

const KINDS: Kinds = { redis, sqlite }

/** The kind of a store, by its location. Add a store of another kind here. */
export function kindOf({ kind }: StoreConfig['location']): StoreKind {
  return KINDS[kind] as StoreKind
}
