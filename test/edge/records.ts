import { createCipheriv, createHmac } from 'node:crypto'
import { once } from 'node:events'
import net from 'node:net'
import { Duplex } from 'node:stream'
import tls from 'node:tls'

/** A client by TLS 1.3 whose records behind the handshake are made by hand: no client that is used sends them so. */
export interface RecordClient {
  readonly socket: net.Socket
  /** One record for each byte. */
  bytes(text: string): Buffer
  /** One record. */
  whole(text: string): Buffer
  /** New keys for what comes. @param asks whether the server is to have new ones, too */
  keyUpdate(asks: boolean): Buffer
}

const [HANDSHAKE, DATA] = [22, 23]
const KEY_UPDATE = 24

/** HKDF-Expand-Label for one block (RFC 8446, 7.1). */
function expand(secret: Buffer, label: string, length: number): Buffer {
  const name = Buffer.from(`tls13 ${label}`)
  const info = Buffer.concat([Buffer.from([0, length, name.length]), name, Buffer.from([0, 1])])
  return createHmac('sha256', secret).update(info).digest().subarray(0, length)
}

class Keys {
  #secret: Buffer
  #key: Buffer
  #iv: Buffer
  #sequence = 0

  constructor(secret: Buffer) {
    this.#secret = secret
    this.#key = expand(secret, 'key', 16)
    this.#iv = expand(secret, 'iv', 12)
  }

  next(): Keys {
    return new Keys(expand(this.#secret, 'traffic upd', 32))
  }

  record(type: number, data: Buffer): Buffer {
    const nonce = Buffer.from(this.#iv)
    nonce.writeUInt32BE((nonce.readUInt32BE(8) ^ this.#sequence++) >>> 0, 8)
    const length = data.length + 17
    const head = Buffer.from([DATA, 3, 3, length >> 8, length & 255])
    const cipher = createCipheriv('aes-128-gcm', this.#key, nonce).setAAD(head)
    const sealed = cipher.update(Buffer.concat([data, Buffer.from([type])]))
    cipher.final()
    return Buffer.concat([head, sealed, cipher.getAuthTag()])
  }
}

export async function openRecordClient(port: number, localAddress = '127.0.0.1'): Promise<RecordClient> {
  const socket = net.connect({ port, host: '127.0.0.1', localAddress })
  socket.on('error', () => {})
  const below = new Duplex({ read() {}, write: (piece, _encoding, done) => void socket.write(piece, () => done()) })
  socket.on('data', (piece) => below.push(piece))
  const client = tls.connect({
    socket: below,
    rejectUnauthorized: false,
    minVersion: 'TLSv1.3',
    ciphers: 'TLS_AES_128_GCM_SHA256',
  })
  client.on('error', () => {})
  let keys: Keys | undefined
  client.on('keylog', (line) => {
    const [name, , secret = ''] = line.toString().trim().split(' ')
    if (name === 'CLIENT_TRAFFIC_SECRET_0') keys = new Keys(Buffer.from(secret, 'hex'))
  })
  await once(client, 'secureConnect')
  const record = (type: number, data: Buffer): Buffer => (keys as Keys).record(type, data)
  return {
    socket,
    bytes: (text) => Buffer.concat([...Buffer.from(text)].map((byte) => record(DATA, Buffer.from([byte])))),
    whole: (text) => record(DATA, Buffer.from(text)),
    keyUpdate: (asks) => {
      const message = record(HANDSHAKE, Buffer.from([KEY_UPDATE, 0, 0, 1, asks ? 1 : 0]))
      keys = keys?.next()
      return message
    },
  }
}
