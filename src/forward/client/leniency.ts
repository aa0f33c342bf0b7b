/**
 * What some old servers send in the head of a response and the parser refuses. Each is let pass by its name only, and none
 * decides where a response ends in another way than the strict parser would: a head that needs one is written anew without it,
 * and the strict parser reads that.
 */
export type Leniency = 'bare_lf' | 'control_bytes' | 'identity_coding' | 'line_without_colon' | 'equal_lengths'

/** A head that the strict parser may take, and what it would not have taken. */
export interface Mended {
  readonly head: string
  readonly needed: readonly Leniency[]
}

/** The end of a head of which some lines may end in LF alone. */
export const LENIENT_END = /\r?\n\r?\n/

/** A LF that ends a line alone. What is not whole yet may still end in a CR. */
export const BARE_LF = /(?<!\r)\n/
/** At these, readers in other languages end a text or a line: whatever else a head has, it is not mended. */
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
/** What decides where a response ends, and what becomes of its connection, is not to be guessed. */
const FRAMING = /^(?:content-length|transfer-encoding|connection|keep-alive)[\t ]*:/i

/**
 * A blank for each, which RFC 9110 section 5.5 has for the worse of them: taken away they would join what stood apart. In a name
 * they stay, and are refused.
 */
function withoutControls(line: string, i: number): string {
  if (FRAMING.test(line)) return line
  const from = i === 0 ? PHRASE_AT : line.indexOf(':') + 1
  return line.slice(0, from) + line.slice(from).replace(CONTROLS, ' ')
}

/** Where the reason phrase begins in a status line. */
export const PHRASE_AT = 'HTTP/1.1 200 '.length

const FOLDED = /^[\t ]/

/** Neither the rest of the line before, nor the status line of another response. */
function isWithoutColon(line: string): boolean {
  return !line.includes(':') && !FOLDED.test(line) && !line.startsWith('HTTP/')
}

const CODING = /^transfer-encoding[\t ]*:/i
const IDENTITY = /^transfer-encoding[\t ]*:[\t ]*identity[\t ]*$/i

/** It says that there is no coding. Beside another one it would hide that from some readers. */
function withoutIdentity(lines: readonly string[]): readonly string[] {
  const codings = lines.filter((line) => CODING.test(line))
  return codings.every((line) => IDENTITY.test(line)) ? lines.filter((line) => !IDENTITY.test(line)) : lines
}

const LENGTH = /^content-length[\t ]*:(.*)$/i

/** Several lengths, in one line or in more, that are the same digits (RFC 9110 section 8.6). */
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
