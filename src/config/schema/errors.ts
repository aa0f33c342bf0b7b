import { z } from 'zod'
import { type ErrorCode, STATUS_OF } from '../../errors.ts'
import { didYouMean } from '../../lib/suggest.ts'
import type { Template, TextKind } from '../../lib/template.ts'
import { quote } from '../problems.ts'
import type { Reading } from '../units.ts'
import { or, read, section, text, wanted } from './values.ts'

/** The operator's own bodies for errors with which the gateway responds. */

export interface ContentType {
  /** The value of Content-Type as it is sent. */
  readonly text: string
  /** How texts are put into a body of this type. */
  readonly kind: TextKind
}

function parseContentType(written: string): Reading<ContentType> {
  const [, type = '', charset] = /^([\w.+-]+\/[\w.+-]+)(?: *; *charset=("?)utf-8\2)?$/i.exec(written) ?? []
  const kind = kindOf(type.toLowerCase())
  if (kind === null) {
    return {
      problem: `${quote(written)} is none that the gateway can fill: write application/json, another of JSON or XML, text/html or text/plain, in UTF-8`,
    }
  }
  return { value: { text: kind === 'json' || charset !== undefined ? written : `${written}; charset=utf-8`, kind } }
}

function kindOf(type: string): TextKind | null {
  if (/^application\/(?:[\w.-]+\+)?json$/.test(type)) return 'json'
  if (/^(?:text\/(?:html|xml)|application\/(?:[\w.-]+\+)?xml)$/.test(type)) return 'markup'
  return type === 'text/plain' ? 'plain' : null
}

const body = section(
  {
    body: text({ what: 'the path of a file' }).describe(
      'File with the body, relative to this one: UTF-8, at most 64 KiB, with placeholders like {{msg}}',
    ),
    content_type: or(read('a content type like application/json', parseContentType), 'application/json').describe(
      'The content type of the body, which is a type of JSON or XML, text/html or text/plain',
    ),
  },
  'The body for one error code',
  'a map like { body: 429.json }',
)

const CODES = Object.keys(STATUS_OF)

const code = z.string().regex(new RegExp(`^(?:${CODES.join('|')})$`), {
  error: ({ input }) =>
    `unknown code ${quote(String(input))}${didYouMean(String(input), CODES) || `; the codes are ${CODES.join(', ')}`}`,
})

export interface ErrorBodyConfig {
  readonly file: string
  readonly contentType: ContentType
  /** `null` until the file was read. */
  readonly template: Template | null
}

export const errors = z
  .record(code, body, { error: ({ input }) => wanted('a map from codes to bodies', input) })
  .transform(
    (record): ReadonlyMap<ErrorCode, ErrorBodyConfig> =>
      new Map(
        Object.entries(record).map(([name, { body: file, content_type: contentType }]) => [
          name as ErrorCode,
          { file, contentType, template: null },
        ]),
      ),
  )
  .describe(
    'Bodies of the gateway’s own refusals, by their code, instead of { "error", "msg" }. Who accepts application/problem+json gets that as before',
  )
