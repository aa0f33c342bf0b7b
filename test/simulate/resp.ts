/** The Redis protocol, as far as the simulation must look into it. https://redis.io/docs/latest/develop/reference/protocol-spec/ */

/** A command as a client sends it. */
export function encodeCommand(words: readonly (string | Buffer)[]): Buffer {
  const parts: Buffer[] = [Buffer.from(`*${words.length}\r\n`)]
  for (const word of words) {
    const bytes = Buffer.from(word as string)
    parts.push(Buffer.from(`$${bytes.length}\r\n`), bytes, Buffer.from('\r\n'))
  }
  return Buffer.concat(parts)
}

/** All commands in a message, each as its words. */
export function decodeCommands(bytes: Buffer): Buffer[][] {
  const commands: Buffer[][] = []
  let at = 0
  while (at < bytes.length) {
    const [count, first] = header(bytes, at)
    at = first
    const words: Buffer[] = []
    for (let i = 0; i < count; i++) {
      const [length, start] = header(bytes, at)
      words.push(bytes.subarray(start, start + length))
      at = start + length + 2
    }
    commands.push(words)
  }
  return commands
}

/** Where the reply that begins at a position ends, or -1 when its end has not arrived. */
export function endOfReply(bytes: Buffer, at: number): number {
  const lineEnd = bytes.indexOf('\r\n', at)
  if (lineEnd === -1) return -1
  const [count, next] = header(bytes, at)
  const type = String.fromCharCode(bytes[at] ?? 0)
  if (type === '$') {
    const end = count < 0 ? next : next + count + 2
    return end <= bytes.length ? end : -1
  }
  if (type !== '*' && type !== '%') return next
  let end = next
  for (let i = 0; i < count * (type === '%' ? 2 : 1) && end !== -1; i++) end = endOfReply(bytes, end)
  return end
}

/** One string. @throws when the reply is something else */
export function decodeString(reply: Buffer): string {
  if (reply[0] !== '$'.charCodeAt(0)) throw new Error(reply.toString())
  const [length, start] = header(reply, 0)
  return reply.toString('utf8', start, start + length)
}

/** An array of strings, as MGET answers. */
export function decodeStrings(reply: Buffer): (Buffer | null)[] {
  const [count, first] = header(reply, 0)
  let at = first
  return Array.from({ length: count }, () => {
    const [length, start] = header(reply, at)
    const isNull = reply[at] !== '$'.charCodeAt(0) || length < 0
    at = isNull ? start : start + length + 2
    return isNull ? null : reply.subarray(start, start + length)
  })
}

/** The number in the line at a position, and where the next line begins. */
function header(bytes: Buffer, at: number): [number, number] {
  const end = bytes.indexOf('\r\n', at)
  return [Number(bytes.toString('latin1', at + 1, end)), end + 2]
}
