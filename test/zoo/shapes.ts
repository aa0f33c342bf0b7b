/** How a request is made in the zoo, by the letter that stands for it in the table. */
export const SHAPES = {
  chunked: 'c',
  large: 'l',
  early: 'e',
  head: 'h',
  range: 'r',
  sse: 's',
  ws: 'w',
  keepalive: 'k',
} as const

export type Shape = keyof typeof SHAPES

/** What a client says of its request. */
export interface Said {
  readonly status?: number
  /** At most the first 200 characters; not there if the client does not show it. */
  readonly body?: string
  readonly error?: string
}

/** What the service of the zoo responds to each. */
export const EXPECTED: Readonly<Record<Shape, Said>> = {
  chunked: { status: 200, body: 'len=5' },
  large: { status: 200, body: 'len=3000000' },
  early: { status: 401, body: 'early' },
  head: { status: 200, body: '' },
  range: { status: 206, body: 'klmnopqrst' },
  sse: { status: 200, body: 'data: 1\n\ndata: 2\n\ndata: 3' },
  ws: { status: 101, body: 'echo hi' },
  keepalive: { status: 200, body: 'hello' },
}

/** @returns what is wrong; `null` if nothing is */
export function problemOf(shape: Shape, said: Said): string | null {
  const { status, body = '' } = EXPECTED[shape]
  if (said.error !== undefined) return said.error
  if (said.status !== status) return `status ${said.status}`
  return said.body === undefined || said.body.trim() === body ? null : `body ${JSON.stringify(said.body)}`
}
