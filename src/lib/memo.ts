/** The most texts that are remembered. Most clients and servers use few, and the bound is for the others. */
const MOST = 1_000
const LONGEST = 100

/** Returns `of` with a memory for its results. So it is seldom called again for the same text, unless the text is long. */
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

/** Returns `make` with a memory for its results, so that it is called once for each object. A result is forgotten with its object. */
export function onceForEach<Of extends object, Made extends {}>(make: (of: Of) => Made): (of: Of) => Made {
  const known = new WeakMap<Of, Made>()
  return (of) => {
    const before = known.get(of)
    if (before !== undefined) return before
    const made = make(of)
    known.set(of, made)
    return made
  }
}

/** Returns `load` with a memory: its result is asked for once, when it is first wanted. A failure is forgotten, so the next call tries again. */
export function onDemand<T>(load: () => Promise<T>): () => Promise<T> {
  let loading: Promise<T> | null = null
  return () => {
    loading ??= load().catch((error: unknown) => {
      loading = null
      throw error
    })
    return loading
  }
}

/** Remembers objects that are made from an object and a name: the same two always give the same result, until their origin is gone. */
export function madeOnce<T extends object, Name extends string | number>(): (of: T, name: Name, make: () => T) => T {
  const known = new WeakMap<T, Map<Name, T>>()
  return (of, name, make) => {
    const byName = known.get(of)
    const before = byName?.get(name)
    if (before !== undefined) return before
    const made = make()
    if (byName === undefined) known.set(of, new Map([[name, made]]))
    else byName.set(name, made)
    return made
  }
}
