import { INTEGER, type Node, OCTET_STRING, OID, readNode, readNodes, SEQUENCE } from './der.ts'

/**
 * Reads names from certificates and identities from revocation lists (RFC 5280). Signatures and dates are checked elsewhere.
 */

export type NameType = 'uri' | 'dns' | 'email' | 'common_name'

const COMMON_NAME = '550403'
const SUBJECT_ALT_NAME = '551d11'
/** Tags of GeneralName, all of them IA5String. */
const ALT_NAMES: Readonly<Record<Exclude<NameType, 'common_name'>, number>> = { email: 0x81, dns: 0x82, uri: 0x86 }
/** UTF8String, PrintableString and IA5String, whose bytes are the text. */
const TEXTS = new Set([0x0c, 0x13, 0x16])

/** The names of one type, in the order of the certificate. @throws Error if it is malformed */
export function namesIn(certificate: Buffer, type: NameType): string[] {
  const fields = fieldsOf(certificate)
  return type === 'common_name' ? commonNames(fields) : altNames(fields, ALT_NAMES[type])
}

/** Distinguishes a certificate from all others by its issuer and serial number. @throws Error if it is malformed */
export function identityOf(certificate: Buffer): string {
  const [serial, , issuer] = fieldsOf(certificate)
  return identity(issuer, serial)
}

/** The identities of the certificates that a list revokes. @throws Error if it is malformed */
export function revokedBy(list: Buffer): string[] {
  const [signed] = readNodes(readNode(list).value)
  const fields = readNodes((signed as Node).value)
  // The fields are version, signature, issuer, thisUpdate, nextUpdate and revokedCertificates. The first and the last two may be missing.
  const [, issuer, ...rest] = fields[0]?.tag === INTEGER ? fields.slice(1) : fields
  const revoked = rest.find(({ tag }) => tag === SEQUENCE)
  if (revoked === undefined) return []
  return readNodes(revoked.value).map(({ value }) => identity(issuer, readNodes(value)[0]))
}

function identity(issuer: Node | undefined, serial: Node | undefined): string {
  if (issuer?.tag !== SEQUENCE || serial?.tag !== INTEGER) throw new Error('malformed certificate')
  return `${serial.value.toString('hex')} ${issuer.raw.toString('base64')}`
}

/** The fields of a certificate after the version: serialNumber, signature, issuer, validity, subject, and so on. */
function fieldsOf(certificate: Buffer): Node[] {
  const [signed] = readNodes(readNode(certificate).value)
  if (signed?.tag !== SEQUENCE) throw new Error('malformed certificate')
  const fields = readNodes(signed.value)
  return fields[0]?.tag === 0xa0 ? fields.slice(1) : fields
}

function commonNames([, , , , subject]: Node[]): string[] {
  const attributes = readNodes(subject?.value ?? Buffer.alloc(0)).flatMap((set) => readNodes(set.value))
  return attributes.flatMap(({ value }) => {
    const [type, text] = readNodes(value)
    return type?.tag === OID && type.value.toString('hex') === COMMON_NAME ? [textOf(text)] : []
  })
}

function altNames(fields: Node[], tag: number): string[] {
  const extensions = fields.find((field) => field.tag === 0xa3)
  if (extensions === undefined) return []
  return readNodes(readNode(extensions.value).value).flatMap(({ value }) => {
    const [type, ...more] = readNodes(value)
    const octets = more.at(-1)
    if (type?.value.toString('hex') !== SUBJECT_ALT_NAME || octets?.tag !== OCTET_STRING) return []
    const names = readNodes(readNode(octets.value).value).filter((name) => name.tag === tag)
    return names.map((name) => asciiOf(name.value))
  })
}

function textOf(text: Node | undefined): string {
  if (text === undefined || !TEXTS.has(text.tag)) throw new Error('a name in another encoding than UTF-8')
  return text.tag === 0x0c ? UTF8.decode(text.value) : asciiOf(text.value)
}

const UTF8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

function asciiOf(bytes: Buffer): string {
  if (bytes.some((byte) => byte > 0x7e)) throw new Error('a name that is no ASCII')
  return bytes.toString('latin1')
}
