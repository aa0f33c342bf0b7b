/** A `Cookie` field as RFC 6265, section 5.4 has it: pairs parted by `;`. Names have letter case. */

/** The values of all cookies of a name, without quotes around them, in their order. */
export function cookieValues(field: string, name: string): string[] {
  if (!field.includes(name)) return []
  const pairs = field.split(';').filter((pair) => nameOf(pair) === name)
  return pairs.map((pair) => {
    const value = pair.slice(pair.indexOf('=') + 1).trim()
    return /^"(.*)"$/.exec(value)?.[1] ?? value
  })
}

/** The field without all cookies of these names. The other pairs stay as they are. */
export function withoutCookies(field: string, names: ReadonlySet<string>): string {
  if (![...names].some((name) => field.includes(name))) return field
  const pairs = field.split(';')
  const others = pairs.filter((pair) => !names.has(nameOf(pair) ?? ''))
  return others.length === pairs.length ? field : others.join(';').trim()
}

/** `null` for a pair without `=`, which is a value without a name. */
function nameOf(pair: string): string | null {
  const mark = pair.indexOf('=')
  return mark < 0 ? null : pair.slice(0, mark).trim()
}
