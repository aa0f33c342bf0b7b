/** Sentences for the most frequent syntax errors. Others keep the parser's message. */
const CURES: Readonly<Record<string, string>> = {
  BAD_ALIAS: 'a value that begins with * must be quoted, like match: "* /v1/*"',
  BAD_DIRECTIVE: 'directives (%) are not supported: remove this line',
  BAD_SCALAR_START: 'a value that begins with @, `, % or another mark of YAML must be quoted',
  DIRECTIVE: 'directives (%YAML, %TAG) are not supported: remove this line; the file is YAML 1.2',
  MISSING_CHAR: 'a quote or bracket is opened and not closed: close it',
  MULTIPLE_DOCS: 'there is more than one document: remove the line --- and all that follows, or join them',
  RESOURCE_EXHAUSTION: 'the nesting is too deep: flatten it',
  TAB_AS_INDENT: 'tabs cannot indent in YAML: use spaces',
  TAG_RESOLVE_FAILED: 'tags (!) are not allowed: remove it, and quote what is meant as text',
  UNEXPECTED_TOKEN: `this does not belong here: quote a value that holds brackets or braces, like "[::1]:8080"; inside { } also "$\{NAME}"`,
  BLOCK_AS_IMPLICIT_KEY:
    'the indentation does not fit, or a value holds ": ": align the keys of a map, and quote such a value',
  MULTILINE_IMPLICIT_KEY: 'a key must stand on one line: write name: value, and check the indentation',
}

/** @param message of the parser, used if there is no better one */
export function cureOf(code: string, message: string): string {
  return CURES[code] ?? `${message.replace(/\s+/g, ' ')}: check the syntax here`
}
