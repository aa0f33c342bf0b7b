/** Clients and servers use few names, and come from few addresses, over and over. The bounds are for those that do not. */
const MOST = 1_000
const LONGEST = 100

/** `of`, asked once for each text. */
export function remembered<T>(of: (text: string) => T): (text: string) => T {
  const known = new Map<string, T>()
  return (text) => {
    const found = known.get(text)
    if (found !== undefined) return found
    const made = of(text)
    if (text.length > LONGEST) return made
    if (known.size >= MOST) known.clear()
    known.set(text, made)
    return made
  }
}
