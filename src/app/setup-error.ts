/** Why a configuration that is well formed cannot be put to use. */
export class SetupError extends Error {
  /** The key of the configuration that is to blame, which the message leaves out. */
  readonly path: readonly (string | number)[]

  /** @param message what is wrong, with the cure */
  constructor(path: readonly (string | number)[], message: string, cause?: unknown) {
    super(message, { cause })
    this.path = path
  }
}
