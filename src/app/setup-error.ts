/** Why a well-formed configuration cannot be used. */
export class SetupError extends Error {
  /** The configuration key to blame, which the message does not contain. */
  readonly path: readonly (string | number)[]

  /** @param message the problem with its cure */
  constructor(path: readonly (string | number)[], message: string, cause?: unknown) {
    super(message, { cause })
    this.path = path
  }
}
