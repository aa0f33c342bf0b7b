/**
 * The signing keys of issuers that were fetched last, as they came. All gateways of one store share them: one that starts while the identity
 * provider is away begins with what the others have.
 */
export interface KeySetStore {
  /**
   * Takes the place of the set that was kept under the name, unless the issuer sent that one later. It is kept until KEEP_KEY_SET_MS after
   * the issuer sent it.
   * @param id of an issuer and an address, as `keySetId` makes it
   * @param text a JWK set as JSON, of MOST_KEY_SET characters at most
   * @param ageMs whole milliseconds since the issuer sent it, 0 to KEEP_KEY_SET_MS - 1
   * @throws StoreError
   */
  keepKeySet(id: string, text: string, ageMs: number): Promise<void>
  /** `null` if there is none, or its time is over. @throws StoreError */
  readKeySet(id: string): Promise<KeptKeySet | null>
}

export interface KeptKeySet {
  readonly text: string
  /** Milliseconds since the issuer sent it, on the clock of the store. */
  readonly ageMs: number
}

/** How long a set is kept, and used by a process that has fetched none, from when the issuer sent it, in milliseconds: as long as one that has goes on with old keys. */
export const KEEP_KEY_SET_MS = 24 * 60 * 60_000

/** A longer one is not kept. Real ones have 1,000 to 20,000 characters. */
export const MOST_KEY_SET = 256 * 1024

/** For whoever has no store, like a check of a configuration. */
export const NO_KEY_SETS: KeySetStore = { keepKeySet: async () => {}, readKeySet: async () => null }
