/** The few parts of DER (X.690) that certificates and revocation lists need. Node offers names only as a text that would have to be parsed. */

export interface Node {
  readonly tag: number
  /** Tag, length and value. */
  readonly raw: Buffer
  readonly value: Buffer
}

export const SEQUENCE = 0x30
export const INTEGER = 0x02
export const OID = 0x06
export const OCTET_STRING = 0x04

/** @throws Error if the bytes are not valid DER */
export function readNode(bytes: Buffer): Node {
  const [node, ...more] = readNodes(bytes)
  if (node === undefined || more.length > 0) throw malformed()
  return node
}

/** The content of a constructed value, in order. @throws Error if it is not valid DER */
export function readNodes(bytes: Buffer): Node[] {
  const nodes: Node[] = []
  for (let at = 0; at < bytes.length; ) {
    const [start, end] = valueAt(bytes, at)
    if (end > bytes.length) throw malformed()
    nodes.push({ tag: bytes[at] as number, raw: bytes.subarray(at, end), value: bytes.subarray(start, end) })
    at = end
  }
  return nodes
}

/** Where the value of the node begins and ends. */
function valueAt(bytes: Buffer, at: number): [start: number, end: number] {
  const first = bytes[at + 1]
  if (first === undefined || first === 0x80 || first > 0x84) throw malformed()
  if (first < 0x80) return [at + 2, at + 2 + first]
  const start = at + 2 + (first - 0x80)
  if (start > bytes.length) throw malformed()
  return [start, start + bytes.readUIntBE(at + 2, first - 0x80)]
}

function malformed(): Error {
  return new Error('malformed DER')
}
