import { remembered } from '../lib/memo.ts'

/**
 * A head begun by its first line, without the end of that line, and the lines of its fields behind it.
 *
 * What stands between two values is one text that is kept: 0.45 µs for a head of eleven fields and half a kilobyte less
 * garbage than with four texts for each line, 0.75 µs (Node 26.10, both until the bytes).
 *
 * @param headers raw `[name, value, …]`, checked by who read or made them
 */
export function withFields(firstLine: string, headers: readonly string[]): string {
  let text = firstLine
  for (let i = 0; i < headers.length; i += 2) {
    text += between(headers[i] as string)
    text += headers[i + 1]
  }
  return text
}

/** By way of bytes it is one piece, and keeps no text alive of which the name is a slice. */
const between = remembered((name) => Buffer.from(`\r\n${name}: `, 'latin1').toString('latin1'))
