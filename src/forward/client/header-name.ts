import { isFieldName } from '../../lib/field-names.ts'
import { BadResponseError } from './failure.ts'

/** What is known of a field from its name alone; worked out once for each spelling. */
export interface FieldName {
  /** As it was sent. */
  readonly text: string
  readonly lower: string
  /** Whether it decides how the message is framed, or what becomes of its connection. */
  readonly framing: boolean
}

const FRAMING: ReadonlySet<string> = new Set([
  'content-length',
  'transfer-encoding',
  'connection',
  'keep-alive',
  'www-authenticate',
  'persistent-auth',
])

/** Servers use few names, over and over. The bound is for one that does not. */
const MAX_KNOWN = 1_000
const known = new Map<string, FieldName>()

/** @throws BadResponseError for what is no name */
export function fieldName(text: string): FieldName {
  return known.get(text) ?? learn(text)
}

function learn(slice: string): FieldName {
  if (!isFieldName(slice)) throw new BadResponseError('a field name that is none')
  // A slice would keep the whole head alive for as long as it is known.
  const text = Buffer.from(slice, 'latin1').toString('latin1')
  const lower = text.toLowerCase()
  const name = { text, lower, framing: FRAMING.has(lower) }
  if (known.size < MAX_KNOWN) known.set(text, name)
  return name
}
