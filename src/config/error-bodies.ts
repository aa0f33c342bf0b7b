import type { ErrorCode } from '../errors.ts'
import { type Names, parseTemplate } from '../lib/template.ts'
import { hashText } from './hash.ts'
import { type Finding, quote } from './problems.ts'
import type { ErrorBodyConfig } from './schema/errors.ts'
import { readText } from './text-file.ts'

/** Sizes in bytes. */
const BODY = { what: 'the file with the body', most: 64 * 1024, tooLarge: 'is larger than 64 KiB: shorten it' }

/** The values that the body of any error may contain. */
const COMMON: readonly (readonly [string, 'text' | 'number'])[] = [
  ['error', 'text'],
  ['msg', 'text'],
  ['status', 'number'],
  ['request_id', 'text'],
  ['retry_after', 'number'],
  ['method', 'text'],
  ['path', 'text'],
  ['user', 'text'],
]

/** The additional values that the body of a refusal by the quota may contain. */
const OF_QUOTA: typeof COMMON = [
  ['scope', 'text'],
  ['category', 'text'],
  ['window', 'text'],
  ['limit', 'number'],
  ['used', 'number'],
  ['requested', 'number'],
  ['reset_at', 'text'],
  ['retry_at', 'text'],
  ['time_zone', 'text'],
]

const NAMES: Names = new Map(COMMON)
const NAMES_OF_QUOTA: Names = new Map([...COMMON, ...OF_QUOTA])

export type ErrorBodies = ReadonlyMap<ErrorCode, ErrorBodyConfig>

interface ReadBodies {
  readonly bodies: ErrorBodies
  /** Of the text of each file that could be read. */
  readonly hashes: readonly string[]
  readonly findings: readonly Finding[]
}

/** Reads the files with the bodies. Never rejects: an error becomes a problem at the key of the file. */
export async function readErrorBodies(errors: ErrorBodies): Promise<ReadBodies> {
  const findings: Finding[] = []
  const hashes: string[] = []
  const bodies = new Map<ErrorCode, ErrorBodyConfig>()
  for (const [code, body] of errors) {
    const reading = await readText(body.file, BODY)
    const names = code === 'quota_exceeded' ? NAMES_OF_QUOTA : NAMES
    const parsed = 'problem' in reading ? reading : parseTemplate(reading.value, body.contentType.kind, names)
    if ('value' in reading) hashes.push(hashText(reading.value))
    if ('problem' in parsed) {
      findings.push({ path: ['errors', code, 'body'], message: `${quote(body.file)} ${parsed.problem}` })
    } else bodies.set(code, { ...body, template: parsed.value })
  }
  return { bodies, hashes, findings }
}
