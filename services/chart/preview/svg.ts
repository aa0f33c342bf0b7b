/** SVG as text. Texts of a chart go through `text` alone, so nothing in them can become markup. */

type Attributes = Readonly<Record<string, string | number>>

export function element(name: string, attributes: Attributes, content = ''): string {
  const written = Object.entries(attributes).map(
    ([key, value]) => ` ${key}="${typeof value === 'number' ? short(value) : value}"`,
  )
  return content === '' ? `<${name}${written.join('')}/>` : `<${name}${written.join('')}>${content}</${name}>`
}

/** A number with two decimals at most. */
export function short(value: number): string {
  return String(Math.round(value * 100) / 100)
}

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&apos;',
}

/** Text between tags. Characters that XML does not know become U+FFFD; a long text is cut. */
export function text(value: string, longest = Number.POSITIVE_INFINITY): string {
  const characters = [...value]
  const kept = characters.length > longest ? [...characters.slice(0, longest - 1), '…'] : characters
  return kept
    .join('')
    .replace(/[^\t\n\r\u{20}-\u{D7FF}\u{E000}-\u{FFFD}\u{10000}-\u{10FFFF}]/gu, '\uFFFD')
    .replace(/[&<>"']/g, (character) => ENTITIES[character] ?? '')
}

/** @param label describes the picture for people who do not see it */
export function document(
  width: number,
  box: { width: number; height: number },
  label: string,
  style: string,
  content: string,
): string {
  const height = Math.round((width * box.height) / box.width)
  return element(
    'svg',
    { xmlns: 'http://www.w3.org/2000/svg', width, height, viewBox: `0 0 ${box.width} ${box.height}`, role: 'img' },
    element('title', {}, text(label)) + element('style', {}, style) + content,
  )
}
