import { type ParseArgsConfig, parseArgs } from 'node:util'
import { print } from '../../src/lib/print.ts'
import { type Address, parseAddress } from './address.ts'
import type { Service } from './service.ts'

/** Functions that the command lines of all services use. */

/** The command line was wrong. */
export class UsageError extends Error {
  override readonly name = 'UsageError'
}

/** Runs a command. The exit code is 0, or 2 if the command line was wrong, or 1 if the command failed otherwise. */
export function runCommand(usage: string, command: (args: string[]) => Promise<void>): void {
  command(process.argv.slice(2)).catch((error: Error) => {
    const isUsage = error instanceof UsageError
    console.error(isUsage ? `${error.message}\n\n${usage.trimEnd()}` : error.message)
    process.exitCode = isUsage ? 2 : 1
  })
}

/** @throws UsageError */
export function readArguments<T extends NonNullable<ParseArgsConfig['options']>>(args: string[], options: T) {
  try {
    return parseArgs({ args, allowPositionals: true, options })
  } catch (error) {
    throw new UsageError((error as Error).message, { cause: error })
  }
}

/** The value of `--listen`. @throws UsageError */
export function listenAddress(text: string): Address {
  const address = parseAddress(text)
  if (address === null) throw new UsageError(`--listen ${text}: expected HOST:PORT`)
  return address
}

/** A value of `--allow-origin`, as browsers send it: scheme, host and port, and nothing after them. @throws UsageError */
export function allowedOrigin(text: string): string {
  if (URL.canParse(text) && new URL(text).origin === text) return text
  throw new UsageError(`--allow-origin ${text}: expected an origin such as http://127.0.0.1:8080`)
}

/** Reads a secret from the environment. On the command line everybody on the machine could read it. @throws UsageError */
export function secretFrom(variable: string): string {
  const secret = process.env[variable]
  if (!secret) throw new UsageError(`${variable} is not set`)
  return secret
}

/** Serves until SIGTERM or SIGINT, then lets running requests finish. */
export async function serveUntilStopped(service: Service, address: Address, name: string): Promise<void> {
  const stopped = new Promise((resolve) => {
    for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, resolve)
  })
  const { url } = await service.listen(address)
  await print(`${name} on ${url}\n`)
  await stopped
  await service.close()
}

/** Writes each report to standard error as one line of JSON. The service goes on if nobody reads them any more. */
export const stderrLogger = {
  error: (fields: { readonly err?: unknown }, message: string) => writeLine('error', fields, message),
  warn: (fields: object, message: string) => writeLine('warn', fields, message),
}

function writeLine(level: string, { err, ...fields }: { readonly err?: unknown }, message: string): void {
  const stack = err instanceof Error ? err.stack : undefined
  console.error(JSON.stringify({ level, message, ...fields, stack }))
}
