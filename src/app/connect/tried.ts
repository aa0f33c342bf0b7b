import { SetupError } from '../setup-error.ts'

/** The result of trying one thing that a gateway needs. */
export interface Tried {
  /** The configuration key in question. */
  readonly path: readonly (string | number)[]
  /** `warning`: a gateway works, but its operator should know. `failed`: it would not work, or would do harm. */
  readonly result: 'good' | 'warning' | 'failed'
  /** What was found, or what is wrong with its cure. */
  readonly message: string
}

/** An expected failure of a part. Any other error is a fault of the program, and is thrown. */
export function failed(error: unknown): Tried {
  if (!(error instanceof SetupError)) throw error
  return { path: error.path, result: 'failed', message: error.message }
}
