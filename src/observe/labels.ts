/** Joins two label values to a key of a series. There are few pairs, and looking up a joined text is faster than joining it anew. */
export function joined(): (a: string, b: string) => string {
  const rows = new Map<string, Map<string, string>>()
  return (a, b) => {
    const row = rows.get(a) ?? added(rows, a, new Map())
    return row.get(b) ?? added(row, b, `${a}\n${b}`)
  }
}

function added<K, V>(map: Map<K, V>, key: K, value: V): V {
  map.set(key, value)
  return value
}

const CLASSES = ['0', '1xx', '2xx', '3xx', '4xx', '5xx']

/** The class of a status. */
export function codeClass(status: number): string {
  return CLASSES[Math.floor(status / 100)] ?? 'other'
}
