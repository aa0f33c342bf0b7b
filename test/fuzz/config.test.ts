// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the syntax of the file, not of JavaScript
import { readFileSync } from 'node:fs'
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { parseConfig } from '../../src/config/load.ts'
import { budget } from './budget.ts'

/** Files that were valid before they were bent: the loader gives a configuration, or problems that stand in the file. */

const read = (path: string): string => readFileSync(new URL(path, import.meta.url), 'utf8')
const FILES = [
  read('../../config/tollgate.yaml'),
  read('../../config/demo.yaml'),
  read('../config/cases/contract.case').split(/^-----/m)[0] ?? '',
]

const VALUE = fc.constantFrom(
  ...[
    '0',
    '-1',
    '1e9',
    '.inf',
    '.nan',
    '9007199254740993',
    '0x10',
    '010',
    '1_000',
    'true',
    'no',
    '~',
    '""',
    "''",
    'null',
  ],
  ...[
    '1h',
    '0s',
    '-5s',
    '64KiB',
    '10%',
    '[]',
    '{}',
    '[a, b]',
    '{ a: b }',
    '&a x',
    '*a',
    '!!js/function x',
    '<<',
    '__proto__',
  ],
  ...[
    'constructor',
    '${NAME}',
    '${',
    '${MISSING}',
    '${NAME:-x}',
    'http://[::1]:99999',
    'GET /a',
    '* /*',
    '|',
    '>',
    '? x',
    '- x',
    '#',
  ],
)
const PIECE = fc.oneof(
  VALUE,
  fc.constantFrom(
    ': ',
    ':',
    ' ',
    '  ',
    '\t',
    '\n',
    '\r\n',
    '\r',
    '\u2028',
    '\u0085',
    '\ufeff',
    '\0',
    '"',
    "'",
    '{',
    '}',
    '[',
    ']',
    ',',
    '---\n',
    '...\n',
    '%YAML 1.1\n',
  ),
  fc.string({ unit: 'binary', maxLength: 3 }),
)

type Change = (text: string) => string
const place = fc.double({ min: 0, max: 1, noNaN: true })
const line = (text: string, at: number): number => Math.floor(at * text.split('\n').length)

const CHANGE: fc.Arbitrary<Change> = fc.oneof(
  fc.tuple(place, PIECE).map(
    ([at, piece]): Change =>
      (text) => {
        const i = Math.floor(at * text.length)
        return text.slice(0, i) + piece + text.slice(i)
      },
  ),
  fc.tuple(place, fc.integer({ min: 1, max: 60 })).map(
    ([at, length]): Change =>
      (text) => {
        const i = Math.floor(at * text.length)
        return text.slice(0, i) + text.slice(i + length)
      },
  ),
  // Another value for a key.
  fc.tuple(place, VALUE).map(
    ([at, value]): Change =>
      (text) => {
        const lines = text.split('\n')
        const i = line(text, at)
        lines[i] = (lines[i] ?? '').replace(/:.*/, `: ${value}`)
        return lines.join('\n')
      },
  ),
  // A line twice, away, or deeper.
  fc
    .tuple(
      place,
      fc.constantFrom<(old: string) => string[]>(
        (old) => [old, old],
        () => [],
        (old) => [`  ${old}`],
      ),
    )
    .map(
      ([at, what]): Change =>
        (text) => {
          const lines = text.split('\n')
          const i = line(text, at)
          const old = lines[i] ?? ''
          lines.splice(i, 1, ...what(old))
          return lines.join('\n')
        },
    ),
  fc.tuple(place, place).map(
    ([from, to]): Change =>
      (text) => {
        const lines = text.split('\n')
        const [moved = ''] = lines.splice(line(text, from), 1)
        lines.splice(line(text, to), 0, moved)
        return lines.join('\n')
      },
  ),
)

const BENT = fc
  .tuple(fc.constantFrom(...FILES), fc.array(CHANGE, { minLength: 1, maxLength: 4 }))
  .map(([file, changes]) => changes.reduce((text, change) => change(text), file))

const ENVIRONMENT = { NAME: 'value', TOLLGATE_ADMIN_TOKEN: 'a-token-of-enough-length', JWT_SECRET: 'x'.repeat(40) }

/** @returns whether the file was taken */
function expectResponse(text: string): boolean {
  const result = parseConfig(text, 'tollgate.yaml', ENVIRONMENT)
  const told = result.ok ? result.warnings : [...result.problems, ...result.warnings]
  if (!result.ok) expect(result.problems.length).toBeGreaterThan(0)
  const lines = text.split('\n')
  for (const { line, column, path, message } of told) {
    expect(path).not.toBe('')
    expect(`${path}${message}`).not.toMatch(/[\r\n]/)
    const within = line >= 1 && line <= lines.length && column >= 1 && column <= (lines[line - 1] ?? '').length + 1
    expect({ line, column, message, within }).toEqual({ line, column, message, within: true })
  }
  return result.ok
}

it(
  'a bent configuration file is understood, or told where it is wrong',
  () => {
    const { seed, parameters } = budget(0.2, 4)
    const seen = { files: 0, taken: 0 }
    const property = fc.property(BENT, (text) => {
      seen.files++
      if (expectResponse(text)) seen.taken++
    })
    fc.assert(property, parameters)
    console.log(`config: seed ${seed}, ${seen.files} files, of which ${seen.taken} were still valid`)
    // Or it says nothing.
    expect(seen.taken).toBeGreaterThan(0)
    expect(seen.files - seen.taken).toBeGreaterThan(seen.files / 4)
  },
  budget(0.2, 4).timeout,
)
