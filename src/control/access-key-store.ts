/** What is kept of an access key. The token itself is not: only its SHA-256. */
export interface AccessKeyRecord {
  readonly id: string
  /** SHA-256 of the whole token, in hexadecimal. */
  readonly hash: string
  /** The user on whose quota it draws. */
  readonly user: string
  readonly name: string
  /** What its user has while it is used. Default none. */
  readonly plan?: string
  readonly organisation?: string
  /** Milliseconds since the epoch. */
  readonly createdAt: number
  /** Milliseconds since the epoch; `null` for a token that does not end by itself. */
  readonly expiresAt: number | null
  /** Milliseconds since the epoch; `null` while the token is good. */
  readonly revokedAt: number | null
  /** When it let somebody in last, to within some minutes, in milliseconds since the epoch. Lists have it. Default never. */
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
  /** `null` if it cannot be read: nobody is let in by the access key, and it can be revoked. */
  readonly record: AccessKeyRecord | null
}

/** Access keys are made and revoked by `ControlStore.change`, together with the entry in the audit. */
export interface AccessKeyStore {
  /** Those of these ids that are known, in any order. @throws StoreError */
  findTokens(ids: readonly string[]): Promise<readonly FoundAccessKey[]>
  /** @param hash SHA-256 of the access key. @returns `null` if it is not known. @throws StoreError */
  findTokenByHash(hash: string): Promise<FoundAccessKey | null>
  /**
   * Some records of all, revoked and expired ones too. One that is there from the first step to the last is in one of them, perhaps in two.
   * @param from `null` for the first step, then `next` of the step before
   * @throws StoreError
   */
  readTokens(from: string | null): Promise<AccessKeysStep>
  /** All records, newest first. @throws StoreError */
  listTokens(): Promise<readonly AccessKeyRecord[]>
  /**
   * Notes when access keys were used, by their SHA-256: the latest of all notes is kept, in whatever order they come. What is not known is
   * passed over. @throws StoreError
   */
  noteUses(uses: ReadonlyMap<string, number>): Promise<void>
  /** Removes those that expired or were revoked before a moment, in milliseconds since the epoch. @throws StoreError */
  removeTokens(endedBefore: number): Promise<void>
}

/** How long the record of an access key is kept when nobody is let in by it any more, in milliseconds. */
export const KEEP_ENDED_MS = 30 * 86_400_000

/** Whether an access key still lets somebody in, and why not. An expired one that was revoked is revoked. */
export type AccessKeyState = 'valid' | 'expired' | 'revoked'

/** @param now milliseconds since the epoch */
export function stateOfToken(
  { expiresAt, revokedAt }: Pick<AccessKeyRecord, 'expiresAt' | 'revokedAt'>,
  now: number,
): AccessKeyState {
  if (revokedAt !== null) return 'revoked'
  return expiresAt !== null && expiresAt <= now ? 'expired' : 'valid'
}

/** Since when nobody was let in by it: since it was made, if it was never used. In milliseconds since the epoch. */
export function unusedSince({ usedAt, createdAt }: AccessKeyRecord): number {
  return usedAt ?? createdAt
}

/** When it was revoked or expired, or will expire, in milliseconds since the epoch; infinite for never. */
export function endOfToken({ expiresAt, revokedAt }: Pick<AccessKeyRecord, 'expiresAt' | 'revokedAt'>): number {
  return Math.min(expiresAt ?? Number.POSITIVE_INFINITY, revokedAt ?? Number.POSITIVE_INFINITY)
}
