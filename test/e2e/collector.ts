import http from 'node:http'
import type { AddressInfo } from 'node:net'
import { atEnd } from '../setup/at-end.ts'
import { listening } from '../setup/listening.ts'

/** A collector that takes spans as OpenTelemetry's own does: OTLP over HTTP, in protobuf. */
export interface Collector {
  readonly url: string
  readonly spans: CollectedSpan[]
  readonly requests: http.IncomingMessage[]
  close(): void
}

export interface CollectedSpan {
  readonly traceId: string
  readonly spanId: string
  /** Empty if the trace begins with it. */
  readonly parentId: string
  readonly name: string
  /** 2 is that of a server. */
  readonly kind: number
  /** Nanoseconds since the epoch. */
  readonly start: bigint
  readonly end: bigint
  readonly attributes: Readonly<Record<string, unknown>>
  /** 2 is an error. */
  readonly status: number
  /** Of the resource. */
  readonly service: Readonly<Record<string, unknown>>
}

/** @param respond after the spans are taken. Default 200 without a body */
export async function startCollector(respond = (res: http.ServerResponse): void => void res.end()): Promise<Collector> {
  const spans: CollectedSpan[] = []
  const requests: http.IncomingMessage[] = []
  const server = http.createServer(async (req, res) => {
    requests.push(req)
    const chunks: Buffer[] = []
    for await (const chunk of req) chunks.push(chunk as Buffer)
    spans.push(...spansIn(Buffer.concat(chunks)))
    respond(res)
  })
  await listening(server)
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    spans,
    requests,
    close: atEnd(() => {
      server.closeAllConnections()
      server.close()
    }),
  }
}

/** https://github.com/open-telemetry/opentelemetry-proto: trace/v1/trace.proto. */
function spansIn(request: Buffer): CollectedSpan[] {
  return messages(request, 1).flatMap((ofResource) => {
    const service = attributesIn(messages(ofResource, 1)[0] ?? Buffer.alloc(0), 1)
    return messages(ofResource, 2).flatMap((ofScope) => messages(ofScope, 2).map((span) => spanIn(span, service)))
  })
}

function spanIn(span: Buffer, service: CollectedSpan['service']): CollectedSpan {
  const bytes = (field: number): Buffer => messages(span, field)[0] ?? Buffer.alloc(0)
  const number = (field: number): bigint => (fields(span).get(field)?.[0] as bigint | undefined) ?? 0n
  const status = fields(bytes(15)).get(3)?.[0] as bigint | undefined
  return {
    traceId: bytes(1).toString('hex'),
    spanId: bytes(2).toString('hex'),
    parentId: bytes(4).toString('hex'),
    name: bytes(5).toString(),
    kind: Number(number(6)),
    start: number(7),
    end: number(8),
    attributes: attributesIn(span, 9),
    status: Number(status ?? 0n),
    service,
  }
}

function attributesIn(message: Buffer, field: number): Record<string, unknown> {
  return Object.fromEntries(
    messages(message, field).map((pair) => {
      const value = fields(messages(pair, 2)[0] ?? Buffer.alloc(0))
      const [text] = value.get(1) ?? []
      const [flag] = value.get(2) ?? []
      const [number] = value.get(3) ?? []
      const plain = Buffer.isBuffer(text) ? text.toString() : flag !== undefined ? flag === 1n : Number(number)
      return [messages(pair, 1)[0]?.toString(), plain]
    }),
  )
}

function messages(message: Buffer, field: number): Buffer[] {
  return (fields(message).get(field) ?? []).filter((value) => Buffer.isBuffer(value))
}

/** By their numbers: bytes of what has a length, else a number. */
function fields(message: Buffer): Map<number, (Buffer | bigint)[]> {
  const found = new Map<number, (Buffer | bigint)[]>()
  let at = 0
  const varint = (): bigint => {
    let value = 0n
    for (let shift = 0n; ; shift += 7n) {
      const byte = message[at++] ?? 0
      value |= BigInt(byte & 127) << shift
      if (byte < 128) return value
    }
  }
  const take = (bytes: number): Buffer => {
    at += bytes
    return message.subarray(at - bytes, at)
  }
  while (at < message.length) {
    const tag = Number(varint())
    const read = {
      0: varint,
      1: () => take(8).readBigUInt64LE(),
      2: () => take(Number(varint())),
      5: () => BigInt(take(4).readUInt32LE()),
    }[tag & 7]
    if (read === undefined) throw new Error(`no wire type of protobuf: ${tag & 7}`)
    found.set(tag >> 3, [...(found.get(tag >> 3) ?? []), read()])
  }
  return found
}
