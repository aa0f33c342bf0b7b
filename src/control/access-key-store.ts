/** The record of an access key. The key itself is not stored, but its SHA-256 is. */
export interface AccessKeyRecord {
  readonly id: string
  /** SHA-256 of the whole key in hexadecimal. */
  readonly hash: string
  /** The user to whom its requests are charged. */
  readonly user: string
  readonly name: string
  /** The user's plan for requests with this key. Default none. */
  readonly plan?: string
  readonly organisation?: string
  /** Milliseconds since the epoch. */
  readonly createdAt: number
  /** Milliseconds since the epoch; `null` for a key that does not expire. */
  readonly expiresAt: number | null
  /** Milliseconds since the epoch; `null` while the key is not revoked. */
  readonly revokedAt: number | null
  /** When it was last used, to within some minutes, in milliseconds since the epoch. Only lists contain it. Default never. */
  readonly usedAt?: number
}

export interface AccessKeysStep {
  readonly records: readonly AccessKeyRecord[]
  /** Where the next step begins; `null` at the end. */
  readonly next: string | null
}

/** An access key that the store knows. */
export interface FoundAccessKey {
  readonly id: string
  readonly hash: string
  /** `null` if the record cannot be read. The key is then not accepted, but can be revoked. */
  readonly record: AccessKeyRecord | null
}

/** `ControlStore.change` makes and revokes access keys, together with the entry in the audit. */
export interface AccessKeyStore {
  /** The existing keys with these ids, in any order. @throws StoreError */
  findTokens(ids: readonly string[]): Promise<readonly FoundAccessKey[]>
  /** @param hash SHA-256 of the access key @returns `null` if it does not exist @throws StoreError */
  findTokenByHash(hash: string): Promise<FoundAccessKey | null>
  /**
   * Some of all records, with revoked and expired ones. A record that exists from the first step to the last comes at least once.
   * @param from `null` for the first step, then `next` of the step before
   * @throws StoreError
   */
  readTokens(from: string | null): Promise<AccessKeysStep>
  /** All records, newest first. @throws StoreError */
  listTokens(): Promise<readonly AccessKeyRecord[]>
  /**
   * Notes when access keys were used, by their SHA-256. The latest time counts, in whatever order they come. Unknown keys are ignored.
   * @throws StoreError
   */
  noteUses(uses: ReadonlyMap<string, number>): Promise<void>
  /** Removes keys that expired or were revoked before a moment, in milliseconds since the epoch. @throws StoreError */
  removeTokens(endedBefore: number): Promise<void>
}

/** How long the record of an access key is kept after its end, in milliseconds. */
export const KEEP_ENDED_MS = 30 * 86_400_000

/** Whether an access key is valid. One that has expired and was revoked counts as revoked. */
export type AccessKeyState = 'valid' | 'expired' | 'revoked'

/** @param now milliseconds since the epoch */
export function stateOfToken(
  { expiresAt, revokedAt }: Pick<AccessKeyRecord, 'expiresAt' | 'revokedAt'>,
  now: number,
): AccessKeyState {
  if (revokedAt !== null) return 'revoked'
  return expiresAt !== null && expiresAt <= now ? 'expired' : 'valid'
}

/** When the key was last used, or when it was created if it was never used, in milliseconds since the epoch. */
export function unusedSince({ usedAt, createdAt }: AccessKeyRecord): number {
  return usedAt ?? createdAt
}

/** When the key was revoked or expires, whichever is earlier, in milliseconds since the epoch; infinite for never. */
export function endOfToken({ expiresAt, revokedAt }: Pick<AccessKeyRecord, 'expiresAt' | 'revokedAt'>): number {
  return Math.min(expiresAt ?? Number.POSITIVE_INFINITY, revokedAt ?? Number.POSITIVE_INFINITY)
}
