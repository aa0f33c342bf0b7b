import { isFieldName } from '../../lib/field-names.ts'
import { BadResponseError } from './failure.ts'

/** What the name of a field says. It is worked out once for each spelling. */
export interface FieldName {
  /** As it was sent. */
  readonly text: string
  readonly lower: string
  /** Whether the field decides how the message is framed, or what happens to its connection. */
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

/** Servers use few names again and again. This bounds the names of a server that does not. */
const MAX_KNOWN = 1_000
const known = new Map<string, FieldName>()

/** @throws BadResponseError if the text is no valid name */
export function fieldName(text: string): FieldName {
  return known.get(text) ?? learn(text)
}

function learn(slice: string): FieldName {
  if (!isFieldName(slice)) throw new BadResponseError('a field name that is none')
  // A slice would keep the whole head in memory.
  const text = Buffer.from(slice, 'latin1').toString('latin1')
  const lower = text.toLowerCase()
  const name = { text, lower, framing: FRAMING.has(lower) }
  if (known.size < MAX_KNOWN) known.set(text, name)
  return name
}
