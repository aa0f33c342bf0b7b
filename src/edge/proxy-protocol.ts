import { isIPv4, isIPv6 } from 'node:net'
import { networkOf } from '../lib/peers.ts'

/**
 * What a load balancer says about a client before the client's first byte, by PROXY protocol, versions 1 and 2
 * (https://www.haproxy.org/download/3.0/doc/proxy-protocol.txt).
 */
export interface Preface {
  /** In bytes. The client's own bytes follow. */
  readonly length: number
  readonly from: Announced
}

/**
 * Whose connection it is: a client's with an address, the load balancer's own, for example to check the port (`local`), or that of an
 * unnamed client (`unknown`).
 */
export type Announced = { readonly kind: 'client'; readonly address: string } | { readonly kind: 'local' | 'unknown' }

const UNKNOWN: Announced = { kind: 'unknown' }

/** In bytes. The protocol allows 64 KiB, nginx accepts this much, and load balancers add a few hundred bytes at most. */
export const MAX_PREFACE = 4096

/** The most bytes of version 1, with the line end. */
const MAX_LINE = 107
const WORD = Buffer.from('PROXY ')
const SIGNATURE = Buffer.from('\r\n\r\n\0\r\nQUIT\n', 'latin1')
/** The signature, a byte of version and command, a byte of family and transport, and the length of what follows. */
const FIXED = SIGNATURE.length + 4

/**
 * Reads the preface at the beginning of a connection.
 * @returns `more` while it is incomplete, `none` if it cannot be a preface
 */
export function prefaceOf(bytes: Buffer): Preface | 'more' | 'none' {
  if (beginsLike(bytes, SIGNATURE)) return binaryPreface(bytes)
  return beginsLike(bytes, WORD) ? textPreface(bytes) : 'none'
}

/** Compares as many bytes as there are. */
function beginsLike(bytes: Buffer, begin: Buffer): boolean {
  const length = Math.min(bytes.length, begin.length)
  return bytes.compare(begin, 0, length, 0, length) === 0
}

const LINE = /^PROXY (?:UNKNOWN(?: .*)?|TCP([46]) ([\dA-Fa-f.:]+) ([\dA-Fa-f.:]+) (\d{1,5}) (\d{1,5}))$/

function textPreface(bytes: Buffer): Preface | 'more' | 'none' {
  const end = bytes.subarray(0, MAX_LINE).indexOf('\r\n')
  if (end < 0) return bytes.length < MAX_LINE ? 'more' : 'none'
  const length = end + 2
  const [line, family, source, target, ...ports] = LINE.exec(bytes.toString('latin1', 0, end)) ?? []
  if (line === undefined) return 'none'
  if (family === undefined) return { length, from: UNKNOWN }
  const isAddress = family === '4' ? isIPv4 : isIPv6
  const isValid = isAddress(source ?? '') && isAddress(target ?? '') && ports.every((port) => Number(port) <= 65_535)
  return isValid ? { length, from: client(source ?? '') } : 'none'
}

/** Version and command in one byte. */
const [LOCAL, PROXY] = [0x20, 0x21]
/** Family and transport in one byte: addresses of TCP, and how many bytes they have with their ports. */
const [TCP4, TCP6] = [0x11, 0x21]
const LENGTHS: Readonly<Record<number, number>> = { [TCP4]: 12, [TCP6]: 36 }
const [MAX_FAMILY, MAX_TRANSPORT] = [3, 2]

/** After the addresses come facts that are not used here. */
function binaryPreface(bytes: Buffer): Preface | 'more' | 'none' {
  if (bytes.length < FIXED) return 'more'
  const [command = 0, family = 0] = bytes.subarray(SIGNATURE.length)
  const length = FIXED + bytes.readUInt16BE(FIXED - 2)
  const isKnown =
    (command === LOCAL || command === PROXY) && family >> 4 <= MAX_FAMILY && (family & 15) <= MAX_TRANSPORT
  if (!isKnown || length > MAX_PREFACE) return 'none'
  if (command === PROXY && length < FIXED + (LENGTHS[family] ?? 0)) return 'none'
  if (bytes.length < length) return 'more'
  if (command === LOCAL) return { length, from: { kind: 'local' } }
  if (family === TCP4) return { length, from: client(bytes.subarray(FIXED, FIXED + 4).join('.')) }
  return { length, from: family === TCP6 ? client(groupsOf(bytes.subarray(FIXED, FIXED + 16))) : UNKNOWN }
}

function groupsOf(bytes: Buffer): string {
  return bytes.toString('hex').replace(/(?<=.)(?=(?:....)+$)/g, ':')
}

/** Gives the address its one spelling, whatever the load balancer wrote. IPv4 within IPv6 becomes IPv4. */
function client(address: string): Announced {
  return { kind: 'client', address: networkOf(address, { ipv4: 32, ipv6: 128 }) }
}
