import { connect } from 'node:net'
import { text } from 'node:stream/consumers'
import { expect } from 'vitest'

/** What the tests of all services do with requests and responses. */

export interface ServiceResponse {
  readonly status: number
  readonly text: string
  readonly headers: Headers
  // biome-ignore lint/suspicious/noExplicitAny: tests look into bodies of every shape
  readonly json: any
}

export async function responseOf(response: Response): Promise<ServiceResponse> {
  const text = await response.text()
  const isJson = text !== '' && response.headers.get('content-type')?.startsWith('application/json')
  return { status: response.status, text, headers: response.headers, json: isJson ? JSON.parse(text) : undefined }
}

/** The body to send: text and bytes as they stand, and anything else as JSON. */
export function bodyText(body: unknown): string | Uint8Array<ArrayBuffer> {
  return typeof body === 'string' || body instanceof Uint8Array ? (body as string) : JSON.stringify(body)
}

/** Expects this status and exactly this body. */
export function expectResponse({ status, json }: ServiceResponse, wanted: number, body: unknown): void {
  expect([status, json]).toEqual([wanted, body])
}

/** The one way in which a documented JSON body is written on the wire. */
export function wire(documented: string): string {
  return JSON.stringify(JSON.parse(documented))
}

/** All that a server sends to a client that writes this, until it closes the connection. */
export function saidTo(url: string, written: string): Promise<string> {
  const socket = connect(Number(new URL(url).port), '127.0.0.1')
  socket.write(written)
  return text(socket)
}
