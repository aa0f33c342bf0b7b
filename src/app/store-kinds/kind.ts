import type { StoreConfig } from '../../config/config.ts'
import type { Observer } from '../../observe/observation.ts'
import type { Retention } from '../../quota/history.ts'
import type { Copyable } from '../../store/copy.ts'
import type { Store } from '../../store/store.ts'
import type { Tried } from '../connect/tried.ts'
import type { StoreWarnings } from '../store-warnings.ts'

type Location = StoreConfig['location']
/** The location of a store of one kind. */
export type LocationOf<K extends Location['kind']> = Extract<Location, { kind: K }>
/** A configuration whose store is of one kind. */
export type ConfigOf<L extends Location> = StoreConfig & { readonly location: L }

export interface Opening {
  readonly warnings: StoreWarnings
  /** `false` for a command that only reads. */
  readonly toWrite: boolean
  /** How long runs are kept. By default no run is added, and all in the store are shown. */
  readonly retention?: (() => Retention) | undefined
}

/** Everything that the gateway and its commands must know about one kind of store. */
export interface StoreKind<L extends Location = Location> {
  /** The name in messages, without a password. */
  name(location: L): string
  /** The part of the location that a running process cannot change: everything but the login. */
  place(location: L): string
  /** The same text for two locations of the same file; `null` if it is no file. */
  file(location: L): string | null
  /** Whether opening the store creates it. */
  isYetToBeMade(location: L): boolean
  /** Removes what opening the store has created. */
  remove(location: L): void
  /** Why the store cannot be opened, as far as this shows without opening it; `null` if no reason shows. */
  whyUnusable(location: L): Promise<string | null>
  /** Our login, with the present content of its files. @throws SetupError if a file cannot be used */
  access(config: ConfigOf<L>): unknown
  /** @throws SetupError with the cure, if it cannot be used */
  open(config: ConfigOf<L>, opening: Opening): Promise<Store>
  /** Whether the store accepts our login and charges. */
  tried(config: ConfigOf<L>): Promise<Tried[]>
  /**
   * Opens the store to copy it.
   * @param exists whether it must exist already, because a missing file would be created empty
   * @param observe is called for records that are left out as unreadable
   * @throws Error with the cure, if a file cannot be used
   */
  openCopyable(config: Pick<ConfigOf<L>, 'location' | 'prefix'>, exists: boolean, observe: Observer): Promise<Copyable>
}
