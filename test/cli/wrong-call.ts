import { expect } from 'vitest'
import { UsageError } from '../../src/cli/usage-error.ts'

/** What a command says of a wrong call, without a process: that the program ends with 2 then is shown once for each command. */
export async function wrongCall(called: Promise<number>): Promise<string> {
  const error = await called.catch((thrown: unknown) => thrown)
  expect(error).toBeInstanceOf(UsageError)
  return (error as UsageError).message
}
