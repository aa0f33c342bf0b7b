/** A person whom an identity provider has signed in. */
export interface SignedIn {
  /** The text of the name's claim; `null` if there is none, or if it is an address that the provider has not verified. */
  readonly name: string | null
  /** The groups in the groups' claim; empty if there is none. */
  readonly groups: readonly string[]
}

/** An identity provider at which people sign in to the dashboard, so that the configuration need not name them. */
export interface SignInProvider {
  /**
   * Begins a sign-in.
   * @param callback where the provider sends the browser back to
   * @returns where the browser goes, and what it keeps until it is back: letters, digits, `-`, `_` and `.`
   * @throws SignInError
   */
  begin(callback: string): Promise<{ readonly to: string; readonly kept: string }>
  /**
   * @param returned the whole address with which the browser came back @param kept what the browser has kept
   * @throws SignInError
   */
  finish(returned: URL, kept: string): Promise<SignedIn>
}

/** A sign-in failed. The message is one safe sentence for the person who signs in. */
export class SignInError extends Error {
  /** `away`: the provider does not respond, or not properly. `refused`: the provider did not sign this person in. */
  readonly kind: 'away' | 'refused'

  constructor(kind: SignInError['kind'], message: string, cause?: unknown) {
    super(message, { cause })
    this.kind = kind
  }
}
