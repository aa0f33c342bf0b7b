/**
 * One spelling for each path. Upstreams fold many spellings of a path into one resource (`/a//b`, `/a/./b`, `/a%2Fb`,
 * `/%61/b`), and each that we would read differently is a way round the price of a route. So a path that two servers
 * could read differently is refused, and of the harmless spellings one is matched and forwarded.
 *
 * What only the operator can know is left alone: letter case, dots and spaces at the end of a name, a slash at the end of
 * the path (`edge.match` says which of them the upstream folds), and compatible Unicode letters.
 */

/** What an upstream is known to take as plain data, and may therefore pass. Each is off unless the operator says so. */
export interface PathAllowances {
  /** `%2F`: stays escaped and never divides segments. */
  readonly encodedSlash: boolean
  /** `//`: an empty segment inside the path. One at the end, a trailing slash, is always allowed. */
  readonly emptySegment: boolean
  /** `;` and `%3B`. A segment of dots before it (`/..;/`) stays refused. */
  readonly semicolon: boolean
  /** Names of what is let pass by name; others than these mean nothing here. Default none. */
  readonly lenient?: ReadonlySet<string>
}

/** Each is off unless the operator says so, and named where a path needed it. */
export type PathLeniency =
  /** `caf%E9`. Not the overlong forms of ASCII characters, which some decoders take for those. */
  | 'non_utf8_path'
  /** `%252F`: an escaped percent sign before two digits, for an upstream that decodes once. */
  | 'encoded_percent'
  /** `%5C`, for an upstream that divides segments by slashes only. */
  | 'encoded_backslash'

/** A request target that every server reads alike. */
export interface Target {
  /** What is forwarded: escapes of unreserved characters decoded, the others in upper case; `[` `]` `^` `|` escaped. */
  readonly path: string
  /** What is matched: `path` with the escapes of delimiters decoded too. */
  readonly matched: string
  /** As the client wrote it: empty, or `?` and what follows. */
  readonly query: string
  /** What was let pass; absent for nothing. */
  readonly lenient?: readonly PathLeniency[]
}

/** Why a target is refused. */
export interface TargetProblem {
  readonly code: keyof typeof PROBLEMS
  /** A sentence for the client. */
  readonly problem: string
}

const PROBLEMS = {
  target_no_path: 'The request target must be a path that begins with "/".',
  target_unescaped: 'The path holds a character that has to be percent-encoded.',
  target_bad_escape: 'The path holds an invalid percent escape.',
  target_control: 'The path holds an encoded backslash or control character.',
  target_escaped_twice: 'The path is percent-encoded twice.',
  target_dots: 'The path holds a "." or ".." segment.',
  target_escaped_slash: 'The path holds an encoded slash.',
  target_empty_segment: 'The path holds an empty segment.',
  target_semicolon: 'The path holds a semicolon.',
  target_no_utf8: 'The path is not valid UTF-8.',
  target_only_dots: 'The path holds a segment of dots and blanks only.',
  target_letter_case: 'The path holds a letter whose case servers read in different ways.',
  query_unescaped: 'The query holds a character that has to be percent-encoded.',
} as const

/** Paths that are canonical already, as nearly all are: 0.1 µs, against 1 µs the careful way (Node 26.10). */
const ORDINARY = /^(?=\/)(?:\/(?!\.\.?(?:[/?]|$))[\w.~!$&'()*+,=:@-]+)*\/?(?:\?[!"$-~]*)?$/
const QUERY = /^(?:\?[!"$-~]*)?$/
const ESCAPE = /%[0-9A-Fa-f]{2}/g
const UNRESERVED = /[\w.~-]/
/** Not allowed in a path (RFC 3986), and harmless: browsers leave some of them as they are, and peers let them pass. */
const LEFT_RAW = Object.entries({ '[': '%5B', ']': '%5D', '^': '%5E', '|': '%7C' })
const PCHAR = /[\w.~!$&'()*+,;=:@-]/

type Rule = readonly [refused: RegExp, code: TargetProblem['code'], unless?: PathLeniency]

/** Judged on the path as written. */
const AS_WRITTEN: readonly Rule[] = [
  [/^[^/]|^$/, 'target_no_path'],
  [/[^\w.~!$&'()*+,;=:@%/[\]^|-]/, 'target_unescaped'],
  [/%(?![0-9A-Fa-f]{2})/, 'target_bad_escape'],
]

/** ASCII in more bytes than it has: `%C0%AF` is a slash to decoders that take it. */
const OVERLONG = /%(?:C[01]%[89AB]|E0%[89]|F0%8)/

/** Judged on the canonical path, so that no mixture of escapes hides anything. */
const CANONICAL: readonly Rule[] = [
  [/%(?:[01].|7F|C2%[89].)/, 'target_control'],
  [/%5C/, 'target_control', 'encoded_backslash'],
  // Also of harmless characters: `/%2573earch` is `/search` to a chain of servers that decodes twice.
  [/%25[0-9A-Fa-f]{2}/, 'target_escaped_twice', 'encoded_percent'],
  // Also before an encoded slash or a parameter: an upstream that decodes or strips those walks up the tree.
  [/(?:\/|%2F|%5C)\.\.?(?=\/|%2F|%5C|;|%3B|$)/, 'target_dots'],
  [OVERLONG, 'target_no_utf8'],
]

const ENCODED_SLASH: Rule = [/%2F/, 'target_escaped_slash']
// A segment of parameters only (`/;x/`) is empty to an upstream that strips them.
const EMPTY_SEGMENT: Rule = [/\/(?:\/|;|%3B)/, 'target_empty_segment']
const SEMICOLON: Rule = [/;|%3B/, 'target_semicolon']

/**
 * Reads the target of a request line, which must be in origin form.
 *
 * The query is passed on as it stands, and only has to be visible ASCII without `#`. Invalid escapes are tolerated there:
 * nothing of ours reads the query, so it can hide nothing from us, and `?q=100%` is common.
 */
export function canonicalTarget(url: string, allow: PathAllowances): Target | TargetProblem {
  const mark = url.indexOf('?')
  const written = mark < 0 ? url : url.slice(0, mark)
  const query = mark < 0 ? '' : url.slice(mark)
  if (ORDINARY.test(url)) return { path: written, matched: written, query }
  if (!QUERY.test(query)) return problemOf('query_unescaped')
  return canonicalPath(written, query, allow)
}

/** A literal of a route pattern in the form of `Target.matched`. Any text is accepted, `café` too. */
export function canonicalLiteral(text: string): string {
  const escaped = text.toWellFormed().replace(/[^\w.~!$&'()*+,;=:@%-]/gu, encodeURIComponent)
  return decodeOnly(PCHAR, escaped)
}

function canonicalPath(written: string, query: string, allow: PathAllowances): Target | TargetProblem {
  const problem = firstProblem(AS_WRITTEN, written)
  if (problem !== null) return problemOf(problem)
  const path = decodeOnly(UNRESERVED, written)
  const isText = isUtf8(path)
  const broken = CANONICAL.filter(([refused]) => refused.test(path))
  const needed = broken.map(([, , unless]) => unless)
  if (!isText) needed.push('non_utf8_path')
  const refused = broken.find(([, , unless]) => !isLet(unless, allow))?.[1] ?? firstProblem(notAllowed(allow), path)
  if (refused !== null) return problemOf(refused)
  if (!isText && !isLet('non_utf8_path', allow)) return problemOf('target_no_utf8')
  const escaped = escapeLeftRaw(path)
  const matched = matchForm(path)
  const target = { path: escaped, matched: matched === path ? escaped : escapeLeftRaw(matched), query }
  return needed.length === 0 ? target : { ...target, lenient: needed.filter((name) => name !== undefined) }
}

function isLet(name: PathLeniency | undefined, { lenient }: PathAllowances): boolean {
  return name !== undefined && lenient?.has(name) === true
}

/** The last step: escaped earlier, each of these characters, which no rule looks for, would be decoded and judged as an escape. */
function escapeLeftRaw(path: string): string {
  return LEFT_RAW.reduce((text, [raw, escaped]) => text.replaceAll(raw, escaped), path)
}

/**
 * RFC 3986 keeps `%3A` and `:` apart, most upstreams do not. Matching takes them for one, so that neither spelling
 * escapes its route; the forwarded path keeps the client's, since `c%2B%2B` and `c++` are not the same to all.
 */
function matchForm(path: string): string {
  return path.includes('%') ? decodeOnly(PCHAR, path) : path
}

function decodeOnly(plain: RegExp, text: string): string {
  return text.replace(ESCAPE, (escaped) => {
    const char = String.fromCharCode(Number.parseInt(escaped.slice(1), 16))
    return plain.test(char) ? char : escaped.toUpperCase()
  })
}

function firstProblem(rules: readonly Rule[], path: string): TargetProblem['code'] | null {
  return rules.find(([refused]) => refused.test(path))?.[1] ?? null
}

export function problemOf(code: TargetProblem['code']): TargetProblem {
  return { code, problem: PROBLEMS[code] }
}

function notAllowed({ encodedSlash, emptySegment, semicolon }: PathAllowances): Rule[] {
  return [
    ...(encodedSlash ? [] : [ENCODED_SLASH]),
    ...(semicolon ? [] : [SEMICOLON]),
    ...(emptySegment ? [] : [EMPTY_SEGMENT]),
  ]
}

/** Escapes are known to be well formed here, so what is left to throw at is overlong, cut or surrogate UTF-8. */
function isUtf8(path: string): boolean {
  try {
    decodeURIComponent(path)
    return true
  } catch {
    return false
  }
}
