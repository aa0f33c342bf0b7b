/**
 * The last fetched signing keys of issuers, unchanged. All gateways of one store share them. A gateway that starts while the identity
 * provider is out uses those of the others.
 */
export interface KeySetStore {
  /**
   * Replaces the stored set, unless the issuer sent that one later. It is kept until KEEP_KEY_SET_MS after the issuer sent it.
   * @param id of an issuer and an address, as `keySetId` makes it
   * @param text a JWK set as JSON, at most MOST_KEY_SET characters
   * @param ageMs whole milliseconds since the issuer sent it, 0 to KEEP_KEY_SET_MS - 1
   * @throws StoreError
   */
  keepKeySet(id: string, text: string, ageMs: number): Promise<void>
  /** `null` if there is none, or if its time is over. @throws StoreError */
  readKeySet(id: string): Promise<KeptKeySet | null>
}

export interface KeptKeySet {
  readonly text: string
  /** Milliseconds since the issuer sent it, by the store's clock. */
  readonly ageMs: number
}

/** How long after the issuer sent it a set is kept and used by others, in milliseconds: as long as its own process would use it. */
export const KEEP_KEY_SET_MS = 24 * 60 * 60_000

/** A longer set is not kept. Real ones have 1,000 to 20,000 characters. */
export const MOST_KEY_SET = 256 * 1024

/** For callers without a store, like a check of a configuration. */
export const NO_KEY_SETS: KeySetStore = { keepKeySet: async () => {}, readKeySet: async () => null }
