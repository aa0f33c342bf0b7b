/** A name whose other spellings differ in letter case at most. It needs no other comparison, which would take twice as long. */
const PLAIN_NAME = /^[0-9A-Za-z]+$/

/**
 * Whether some JSON parser or object mapper takes a name for one of the fields: by letter case (Go, .NET), as `charge_id` for
 * `chargeId` (protobuf), cut at NUL, without lone surrogates and invisible characters.
 *
 * Each character is folded once, and only as long as one of the fields begins so. One character may fold to 18, a body has room for
 * 16,000 different ones, and the time to sort a run of marks grows with the square of its length.
 */
export function spellingsOf(fields: readonly string[]): (name: string) => boolean {
  const known = new Map<string, string>()
  const folded = fields.map((field) => fold(field, known, () => true))
  const begins = (text: string) => folded.some((field) => field.startsWith(text))
  return (name) => {
    if (known.size > MAX_KNOWN) known.clear()
    return folded.includes(PLAIN_NAME.test(name) ? name.toLowerCase() : fold(name, known, begins))
  }
}

/** The most characters whose fold is remembered. */
const MAX_KNOWN = 4096

/** The form of a name that all its spellings share, or its beginning up to the place where no field begins so. */
export function fold(name: string, known: Map<string, string>, begins: (text: string) => boolean): string {
  const end = name.indexOf('\0')
  let text = ''
  for (const char of end < 0 ? name : name.slice(0, end)) {
    let folded = known.get(char)
    if (folded === undefined) {
      folded = foldCharacter(char)
      known.set(char, folded)
    }
    text += folded
    if (!begins(text)) break
  }
  return text
}

/** Upper case comes before lower case, because to Java the dotless `ı` is an `i` only by way of its upper case. */
function foldCharacter(char: string): string {
  return withoutUnseen(char.normalize('NFKD')).toUpperCase().toLowerCase()
}

/** A text without marks, invisible characters, and characters that separate words. */
function withoutUnseen(text: string): string {
  return text.replace(/[\p{M}\p{C}\s_-]/gu, '')
}
