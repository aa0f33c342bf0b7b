/** The remaining quota by the latest response. */
export interface Left {
  readonly remaining: number
  readonly limit: number
  /** For example `personal-read-1h`. */
  readonly name: string
}

type Field = string | readonly string[] | undefined

/**
 * The window of a response with the least room.
 * @param remaining `RateLimit`, which Swagger UI splits at its commas
 * @param policy `RateLimit-Policy`
 * @returns `null` if the response names none
 */
export function tightest(remaining: Field, policy: Field): Left | null {
  const limits = new Map(numbersOf(policy, 'q'))
  const all = numbersOf(remaining, 'r').flatMap(([name, left]): Left[] => {
    const limit = limits.get(name)
    return limit === undefined ? [] : [{ name, remaining: left, limit }]
  })
  const share = (left: Left) => (left.limit === 0 ? 0 : left.remaining / left.limit)
  return all.reduce<Left | null>((least, one) => (least === null || share(one) < share(least) ? one : least), null)
}

/** A parameter of each item, by the name of the item. */
function numbersOf(field: Field, parameter: string): (readonly [string, number])[] {
  const item = /"([\w-]+)"((?:;\w+=\d+)*)/g
  return [...[field ?? ''].flat().join().matchAll(item)].flatMap(([, name = '', parameters = '']) => {
    const value = new RegExp(`;${parameter}=(\\d+)`).exec(parameters)?.[1]
    return value === undefined ? [] : [[name, Number(value)] as const]
  })
}

let latest: Left | null = null
const listeners = new Set<() => void>()

/** The remaining quota beside each button that sends a request. */
export const whatIsLeft = {
  get: (): Left | null => latest,
  /** A response without a window changes nothing. */
  set(left: Left | null): void {
    if (left === null) return
    latest = left
    for (const listener of listeners) listener()
  },
  subscribe(listener: () => void): () => void {
    listeners.add(listener)
    return () => listeners.delete(listener)
  },
}
