/**
 * Parameters of a query as nearly all servers read them: parted by `&`, names percent-encoded in any way. A query is empty, or `?`
 * and what follows.
 */

/** The values of a parameter as they are written, still encoded. @param name in plain letters */
export function parameterValues(query: string, name: string): string[] {
  const pairs = query.slice(1).split('&')
  return pairs.filter((pair) => nameOf(pair) === name).map((pair) => pair.slice(valueAt(pair)))
}

/** The query without all parameters of these names. Not a byte of the others changes; no lone `?` is left. */
export function withoutParameters(query: string, names: ReadonlySet<string>): string {
  if (query === '') return query
  const pairs = query.slice(1).split('&')
  const others = pairs.filter((pair) => !names.has(nameOf(pair)))
  if (others.length === pairs.length) return query
  return others.length === 0 ? '' : `?${others.join('&')}`
}

/** A reference without these parameters in its query. What has no query is left as it is. */
export function urlWithoutParameters(url: string, names: ReadonlySet<string>): string {
  const [, before = '', query = '', fragment = ''] = /^([^?#]*)(\?[^#]*)?(#.*)?$/s.exec(url) ?? []
  return query === '' ? url : before + withoutParameters(query, names) + fragment
}

function nameOf(pair: string): string {
  const mark = pair.indexOf('=')
  const written = mark < 0 ? pair : pair.slice(0, mark)
  if (!written.includes('%')) return written
  return written.replace(/%[0-9A-Fa-f]{2}/g, (escaped) => String.fromCharCode(Number.parseInt(escaped.slice(1), 16)))
}

/** Behind its first `=`; its end if there is none. */
function valueAt(pair: string): number {
  const mark = pair.indexOf('=')
  return mark < 0 ? pair.length : mark + 1
}
