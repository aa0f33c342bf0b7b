/** `Forwarded` (RFC 7239). The elements before those of the proxies may be written by a client. */

/** Pairs of an element. The RFC has four, and proxies add one or two. */
const MAX_PAIRS = 16

const NAMES = { for: /[\t ]*for[\t ]*=/iy, host: /[\t ]*host[\t ]*=/iy, proto: /[\t ]*proto[\t ]*=/iy } as const

/**
 * The value of one name in an element, with which its proxy describes the hop before. Empty if the element has no such value, has two, or
 * has more than `MAX_PAIRS` pairs. An address may stand in brackets, have a port, or be `unknown` or another name.
 */
export function saidIn(element: string, name: keyof typeof NAMES): string {
  const isNamed = NAMES[name]
  let said: string | null = null
  let from = 0
  for (let pairs = 1; from <= element.length; pairs++) {
    const semicolon = element.indexOf(';', from)
    const to = semicolon < 0 ? element.length : semicolon
    isNamed.lastIndex = from
    if (isNamed.test(element)) {
      if (said !== null) return ''
      said = element.slice(isNamed.lastIndex, to).trim()
    }
    if (pairs === MAX_PAIRS && to < element.length) return ''
    from = to + 1
  }
  return unquoted(said ?? '')
}

function unquoted(text: string): string {
  return text.startsWith('"') ? (/^"([^"]*)"$/.exec(text)?.[1] ?? text) : text
}

/** An address, a name or a port as RFC 7239, section 6 defines them. */
const NODE = /^[\w.:[\]-]{1,64}$/

/**
 * The addresses of a whole field as `X-Forwarded-For` would list them; `unknown` for an element without one. Each comma separates,
 * also in quotes: no address has a comma, and a client could quote away the elements of the proxies.
 */
export function addressesIn(forwarded: string): string {
  let addresses = ''
  for (let from = 0; from <= forwarded.length; ) {
    const comma = forwarded.indexOf(',', from)
    const to = comma < 0 ? forwarded.length : comma
    const element = forwarded.slice(from, to)
    from = to + 1
    if (!IS_SOMETHING.test(element)) continue
    const node = saidIn(element, 'for')
    if (addresses !== '') addresses += ', '
    addresses += NODE.test(node) ? node : 'unknown'
  }
  return addresses
}

const IS_SOMETHING = /[^\t ]/
