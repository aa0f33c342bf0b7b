import { SetupError } from '../setup-error.ts'

/** What became of one thing that a gateway needs. */
export interface Tried {
  /** The key of the configuration that it is about. */
  readonly path: readonly (string | number)[]
  /** `warning`: a gateway works, and its operator should know. `failed`: it would not, or would do harm. */
  readonly result: 'good' | 'warning' | 'failed'
  /** What was found, or what is wrong, with the cure. */
  readonly message: string
}

/** What a part could not be used for; any other error is one of the program. */
export function failed(error: unknown): Tried {
  if (!(error instanceof SetupError)) throw error
  return { path: error.path, result: 'failed', message: error.message }
}
