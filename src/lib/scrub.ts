/**
 * The last safeguard that no credential is ever logged. No code is meant to put a credential into a message, but
 * libraries do, for instance by quoting the URL with its password when a connection fails.
 */
const SECRETS: readonly [RegExp, string][] = [
  [/\b(Bearer|Basic)\s+[\w.~+/=-]+/gi, '$1 [hidden]'],
  [/\bgw_[0-9A-Za-z]{8,}/g, 'gw_[hidden]'],
  [/\beyJ[\w-]+\.[\w-]+(?:\.[\w-]*)*/g, '[hidden JWT]'],
  [/(\b[a-z][\w+.-]*:\/\/)[^\s/?#]*@/gi, '$1[hidden]@'],
]

/** `text` without the parts that look like a token or a password. */
export function scrub(text: string): string {
  return SECRETS.reduce((rest, [pattern, cover]) => rest.replace(pattern, cover), text)
}

export interface PlainError {
  readonly type: string
  readonly message: string
  readonly code?: string
  readonly stack?: string
  readonly cause?: PlainError
}

const MAX_CAUSES = 5

/**
 * The parts of an error that may be logged. Other properties, which pino's own serializer copies, may not: an error of
 * ioredis has the command with all its arguments, also a password.
 */
export function plainError(error: unknown, depth = 0): PlainError {
  if (!(error instanceof Error)) return { type: typeof error, message: scrub(String(error)) }
  const { code } = error as NodeJS.ErrnoException
  return {
    type: error.name,
    message: scrub(error.message),
    ...(typeof code === 'string' && { code }),
    ...(error.stack !== undefined && { stack: scrub(error.stack) }),
    ...(error.cause !== undefined && depth < MAX_CAUSES && { cause: plainError(error.cause, depth + 1) }),
  }
}
