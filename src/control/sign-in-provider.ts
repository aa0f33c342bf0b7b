/** Somebody whom a provider of identities has signed in. */
export interface SignedIn {
  /** What the claim of the name has; `null` if it has no text, or an address that the provider has not verified. */
  readonly name: string | null
  /** What the claim of the groups has; empty without it. */
  readonly groups: readonly string[]
}

/** Where people sign in whom the configuration of the gateway does not know. */
export interface SignInProvider {
  /**
   * Begins a sign-in.
   * @param callback where the provider sends the browser back to
   * @returns where the browser goes, and what it keeps until it is back: letters, digits, `-`, `_` and `.`
   * @throws SignInError
   */
  begin(callback: string): Promise<{ readonly to: string; readonly kept: string }>
  /**
   * @param returned the whole address by which the browser came back @param kept what it has kept
   * @throws SignInError
   */
  finish(returned: URL, kept: string): Promise<SignedIn>
}

/** A sign-in failed. The message is one safe sentence for whoever wants to sign in. */
export class SignInError extends Error {
  /** `away`: the provider does not respond, or not as one. `refused`: it did not sign this person in here. */
  readonly kind: 'away' | 'refused'

  constructor(kind: SignInError['kind'], message: string, cause?: unknown) {
    super(message, { cause })
    this.kind = kind
  }
}
