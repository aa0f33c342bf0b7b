import { type Address, parseAddress } from '../common/address.ts'

/**
 * The address at which a service listens, from a variable of the environment. @throws Error that names the variable and
 * the cure
 */
export function addressIn(variable: string, fallback: string): Address {
  const text = process.env[variable] ?? fallback
  const address = parseAddress(text)
  if (address === null) throw new Error(`${variable}: "${text}" is not HOST:PORT: write it like ${fallback}`)
  return address
}

const EVERYWHERE = ['0.0.0.0', '::']

/**
 * The origins that a browser of this machine may send for a page of the listener. None if the text is no address: the
 * configuration reports that.
 */
export function originsOf(listen: string): string[] {
  const address = parseAddress(listen)
  if (address === null) return []
  const { host, port } = address
  const hosts = ['localhost', host.includes(':') ? `[${host}]` : host]
  if (EVERYWHERE.includes(host)) hosts.push('127.0.0.1', '[::1]')
  const origins = hosts.map((name) => URL.parse(`http://${name}:${port}`)?.origin)
  return [...new Set(origins)].filter((origin) => origin !== undefined)
}
