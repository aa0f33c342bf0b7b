/** A name whose other spellings differ in letter case at most. It needs no other comparison, which would take twice as long. */
const PLAIN_NAME = /^[0-9A-Za-z]+$/

/**
 * Whether a name is one of the fields to some JSON parser or object mapper: by letter case (Go, .NET), as `charge_id` for
 * `chargeId` (protobuf), cut at NUL, without lone surrogates and invisible characters.
 *
 * Character by character, each folded once, and no further than one of the fields begins so: one character may fold to 18, a body has
 * room for 16,000 that differ, and to sort a run of marks takes the square of its length.
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

/** Characters whose fold is remembered. */
const MAX_KNOWN = 4096

/** A name as all its spellings have it, or its beginning with which no field begins. */
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

/** Upper before lower case, since the dotless `ı` is an `i` (to Java) only by way of its upper case. */
function foldCharacter(char: string): string {
  return withoutUnseen(char.normalize('NFKD')).toUpperCase().toLowerCase()
}

/** Marks, invisible characters, and what parts words. */
function withoutUnseen(text: string): string {
  return text.replace(/[\p{M}\p{C}\s_-]/gu, '')
}
