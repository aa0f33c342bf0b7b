import { stat } from 'node:fs/promises'
import { type ErrorCode, unreadable } from '../errors.ts'
import { readRegular } from '../lib/regular-file.ts'
import { type Names, parseTemplate } from '../lib/template.ts'
import { type Finding, quote } from './problems.ts'
import type { ErrorBodyConfig } from './schema/errors.ts'
import type { Reading } from './units.ts'

/** Bytes. */
const MAX_BODY = 64 * 1024

/** What is known of each refusal. */
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

/** What is known of a refusal of the quota besides. */
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

/** Reads the files. Never rejects: what is wrong with one is a problem at its key. */
export async function readErrorBodies(errors: ErrorBodies): Promise<{ bodies: ErrorBodies; findings: Finding[] }> {
  const findings: Finding[] = []
  const bodies = new Map<ErrorCode, ErrorBodyConfig>()
  for (const [code, body] of errors) {
    const reading = await readText(body.file)
    const names = code === 'quota_exceeded' ? NAMES_OF_QUOTA : NAMES
    const parsed = 'problem' in reading ? reading : parseTemplate(reading.value, body.contentType.kind, names)
    if ('problem' in parsed) {
      findings.push({ path: ['errors', code, 'body'], message: `${quote(body.file)} ${parsed.problem}` })
    } else bodies.set(code, { ...body, template: parsed.value })
  }
  return { bodies, findings }
}

async function readText(file: string): Promise<Reading<string>> {
  try {
    const found = await stat(file)
    if (!found.isFile()) return { problem: 'is not a regular file: name the file with the body' }
    if (found.size > MAX_BODY) return { problem: 'is larger than 64 KiB: shorten it' }
    return { value: new TextDecoder('utf-8', { fatal: true }).decode(await readRegular(file)) }
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'ERR_ENCODING_INVALID_ENCODED_DATA') return { problem: 'is not UTF-8: save it in that encoding' }
    return { problem: unreadable(code) }
  }
}
