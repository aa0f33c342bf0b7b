import type { StoreConfig } from '../../config/config.ts'
import type { Observer } from '../../observe/observation.ts'
import type { Retention } from '../../quota/history.ts'
import type { Copyable } from '../../store/copy.ts'
import type { Store } from '../../store/store.ts'
import type { Tried } from '../connect/tried.ts'
import type { StoreWarnings } from '../store-warnings.ts'

type Location = StoreConfig['location']
/** Where a store of one kind is. */
export type LocationOf<K extends Location['kind']> = Extract<Location, { kind: K }>
/** A configuration whose store is of one kind. */
export type ConfigOf<L extends Location> = StoreConfig & { readonly location: L }

export interface Opening {
  readonly warnings: StoreWarnings
  /** `false` for a command that only reads. */
  readonly toWrite: boolean
  /** How long runs are kept. Default: none is added, and all that are there are shown. */
  readonly retention?: (() => Retention) | undefined
}

/** All that the gateway and its commands must know of one kind of store, in one place. */
export interface StoreKind<L extends Location = Location> {
  /** As messages name it, without a password. */
  name(location: L): string
  /** What of it a process that runs cannot change: all but the login. */
  place(location: L): string
  /** The same text for two locations that are one file; `null` if it is no file. */
  file(location: L): string | null
  /** Whether opening the store makes it, empty. */
  isYetToBeMade(location: L): boolean
  /** Takes away what opening the store made. */
  remove(location: L): void
  /** Why it cannot be opened, as far as that shows without opening it; `null` for no reason. */
  whyUnusable(location: L): Promise<string | null>
  /** Who we are there, with what lies in the files now. @throws SetupError */
  access(config: ConfigOf<L>): unknown
  /** @throws SetupError with the cure, if it cannot be used */
  open(config: ConfigOf<L>, opening: Opening): Promise<Store>
  /** Whether the store lets us in and can take charges. */
  tried(config: ConfigOf<L>): Promise<Tried[]>
  /**
   * Opens the store to copy it.
   * @param exists whether it must be there already: a file that is missing would be made, and be empty
   * @param observe hears of records that are left out, since they cannot be read
   * @throws Error with the cure, if a file cannot be used
   */
  openCopyable(config: Pick<ConfigOf<L>, 'location' | 'prefix'>, exists: boolean, observe: Observer): Promise<Copyable>
}
