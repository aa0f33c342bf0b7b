/**
 * The names of our keys. All share one hash tag, so that a script may touch any of them together in a cluster.
 * A user id may hold any characters, also braces and colons: it comes last, after a category that cannot hold a colon,
 * so two different pairs never give the same key; and Redis takes the first braces as the tag, which are ours.
 */
export interface Keys {
  /** `null` for everybody: the global scope. */
  counter(user: string | null, category: string): string
  instance(id: string): string
  readonly failures: string
  /** SHA-256 of a gateway token -> its record. */
  readonly tokens: string
  /** Id of a gateway token -> its SHA-256. */
  readonly tokenIds: string
}

export function createKeys(prefix: string): Keys {
  const tag = `{${prefix}}`
  return {
    counter: (user, category) => (user === null ? `${tag}:g:${category}` : `${tag}:u:${category}:${user}`),
    instance: (id) => `${tag}:i:${id}`,
    failures: `${tag}:failures`,
    tokens: `${tag}:tokens`,
    tokenIds: `${tag}:token-ids`,
  }
}
