/** As much of XML as an SVG of ours has: elements, attributes in double quotes, and text. */

export interface XmlElement {
  readonly name: string
  readonly attributes: Readonly<Record<string, string>>
  /** Directly inside it, unescaped. */
  text: string
}

const TOKEN =
  /<(?<close>\/)?(?<name>[a-z]+)(?<attributes>(?: [\w:-]+="[^"<&]*")*)(?<empty>\/)?>|(?<text>(?:[^<>&]|&(?:amp|lt|gt|quot|apos);)+)/gu

const CHARACTERS: Record<string, string> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" }

/** All elements in the order in which they begin. @throws Error if the text is not well formed */
export function readXml(text: string): XmlElement[] {
  const all: XmlElement[] = []
  const open: XmlElement[] = []
  let end = 0
  for (const { index, 0: token, groups = {} } of text.matchAll(TOKEN)) {
    if (index !== end) throw new Error(`not well formed at ${index}: ${text.slice(end, end + 80)}`)
    end = index + token.length
    if (groups.text !== undefined) {
      const inside = open.at(-1)
      if (inside === undefined) throw new Error('text outside of everything')
      inside.text += groups.text.replace(/&(\w+);/g, (_entity, name: string) => CHARACTERS[name] ?? '')
    } else if (groups.close !== undefined) {
      if (open.pop()?.name !== groups.name) throw new Error(`</${groups.name}> closes another element`)
    } else {
      if (all.length > 0 && open.length === 0) throw new Error('two roots')
      const pairs = [...(groups.attributes ?? '').matchAll(/ ([\w:-]+)="([^"]*)"/g)]
      const attributes = Object.fromEntries(pairs.map(([, key = '', value = '']) => [key, value]))
      if (Object.keys(attributes).length !== pairs.length) throw new Error('an attribute is there twice')
      const element = { name: groups.name ?? '', attributes, text: '' }
      all.push(element)
      if (groups.empty === undefined) open.push(element)
    }
  }
  if (end !== text.length || open.length > 0) throw new Error(`not well formed at ${end}: ${text.slice(end, end + 80)}`)
  return all
}

/** The elements of a class, but for the rims that lie below them. */
export function inkOf(elements: readonly XmlElement[], name: string): XmlElement[] {
  return elements.filter(({ attributes }) => {
    const classes = attributes.class?.split(' ') ?? []
    return classes.includes(name) && !classes.includes('rim')
  })
}

export function attributesOf(elements: readonly XmlElement[], name: string): Readonly<Record<string, string>> {
  return elements.find((element) => element.name === name)?.attributes ?? {}
}
