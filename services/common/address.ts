/** The address of a service. */
export interface Address {
  readonly host: string
  /** 0 picks a free port. */
  readonly port: number
}

/** Reads `HOST:PORT`, with an IPv6 address in brackets; `null` if the text has another form or the port is above 65535. */
export function parseAddress(text: string): Address | null {
  const match = /^(?:\[([^\]]+)\]|([^:]+)):(\d{1,5})$/.exec(text)
  if (match === null || Number(match[3]) > 65_535) return null
  return { host: match[1] ?? match[2] ?? '', port: Number(match[3]) }
}
