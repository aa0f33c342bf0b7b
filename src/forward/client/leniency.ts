/**
 * Faults in response heads of some old servers that the strict parser refuses. Each is tolerated only if its name is
 * configured. None changes where a response ends: the head is written anew without the fault, and the strict parser reads the
 * result.
 */
export type Leniency = 'bare_lf' | 'control_bytes' | 'identity_coding' | 'line_without_colon' | 'equal_lengths'

/** A repaired head, and its faults. */
export interface Mended {
  readonly head: string
  readonly needed: readonly Leniency[]
}

/** The end of a head in which lines may end with LF alone. */
export const LENIENT_END = /\r?\n\r?\n/

/** A LF alone at the end of a line. Text that is still incomplete may end with a CR. */
export const BARE_LF = /(?<!\r)\n/
/** Readers in other languages end a text or a line at these, so a head that contains one is never repaired. */
const NEVER = /\0|\r(?!\n)/

/** @param head without the line break before its empty line */
export function mended(head: string, lenient: ReadonlySet<Leniency>): Mended {
  if (NEVER.test(head) || (!lenient.has('bare_lf') && BARE_LF.test(head))) return { head, needed: [] }
  const needed: Leniency[] = []
  const apply = (leniency: Leniency, change: (lines: readonly string[]) => readonly string[]): void => {
    if (!lenient.has(leniency)) return
    const changed = change(lines)
    if (changed.length !== lines.length || changed.some((line, i) => line !== lines[i])) needed.push(leniency)
    lines = changed
  }
  let lines: readonly string[] = head.split('\r\n')
  apply('bare_lf', (all) => all.flatMap((line) => line.split('\n')))
  apply('control_bytes', (all) => all.map(withoutControls))
  apply('line_without_colon', (all) => all.filter((line, i) => i === 0 || !isWithoutColon(line)))
  apply('identity_coding', withoutIdentity)
  apply('equal_lengths', withOneLength)
  return { head: lines.join('\r\n'), needed }
}

const CONTROLS = /[\x01-\x08\x0b\x0c\x0e-\x1f\x7f]/g
/** In fields that decide where a response ends, or what happens to its connection, no control character is replaced. */
const FRAMING = /^(?:content-length|transfer-encoding|connection|keep-alive)[\t ]*:/i

/**
 * Replaces each control character by a blank, as RFC 9110 section 5.5 advises. Removing it could join separate parts. In a name
 * it stays, and is refused.
 */
function withoutControls(line: string, i: number): string {
  if (FRAMING.test(line)) return line
  const from = i === 0 ? PHRASE_AT : line.indexOf(':') + 1
  return line.slice(0, from) + line.slice(from).replace(CONTROLS, ' ')
}

/** Where the reason phrase begins in a status line. */
export const PHRASE_AT = 'HTTP/1.1 200 '.length

const FOLDED = /^[\t ]/

/** Such a line is neither a continuation of the line before nor the status line of another response. */
function isWithoutColon(line: string): boolean {
  return !line.includes(':') && !FOLDED.test(line) && !line.startsWith('HTTP/')
}

const CODING = /^transfer-encoding[\t ]*:/i
const IDENTITY = /^transfer-encoding[\t ]*:[\t ]*identity[\t ]*$/i

/** `identity` means that there is no coding. Beside another coding it would hide that coding from some readers. */
function withoutIdentity(lines: readonly string[]): readonly string[] {
  const codings = lines.filter((line) => CODING.test(line))
  return codings.every((line) => IDENTITY.test(line)) ? lines.filter((line) => !IDENTITY.test(line)) : lines
}

const LENGTH = /^content-length[\t ]*:(.*)$/i

/** Several lengths with the same digits, in one line or in several (RFC 9110 section 8.6). */
function withOneLength(lines: readonly string[]): readonly string[] {
  const written = lines.flatMap((line) => LENGTH.exec(line)?.[1]?.split(',') ?? [])
  const lengths = new Set(written.map((length) => length.replace(/^[\t ]+|[\t ]+$/g, '')))
  const [length] = lengths
  if (written.length < 2 || lengths.size !== 1 || length === undefined) return lines
  const first = lines.findIndex((line) => LENGTH.test(line))
  return lines.flatMap((line, i) => {
    if (i === first) return [`Content-Length: ${length}`]
    return LENGTH.test(line) ? [] : [line]
  })
}
