/** A list of strings with integer parameters, as RFC 9651 defines it; anything else is an error. */
export type Item = readonly [name: string, parameters: Readonly<Record<string, number>>]

export function parseList(text: string): Item[] {
  const items: Item[] = []
  for (let rest = text; rest !== ''; ) {
    const item = /^"((?:[\x20\x21\x23-\x5b\x5d-\x7e]|\\["\\])*)"((?:;[a-z*][a-z0-9_.*-]*=-?\d{1,15})*)/.exec(rest)
    if (item === null) throw new Error(`no item at: ${rest}`)
    const parameters = (item[2] ?? '')
      .split(';')
      .slice(1)
      .map((p) => p.split('='))
    items.push([item[1] ?? '', Object.fromEntries(parameters.map(([key, value]) => [key, Number(value)]))])
    rest = rest.slice(item[0].length)
    const comma = /^[ \t]*,[ \t]*(?=.)/.exec(rest)
    if (rest !== '' && comma === null) throw new Error(`no comma at: ${rest}`)
    rest = rest.slice(comma?.[0].length ?? 0)
  }
  return items
}
