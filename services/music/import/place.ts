import type * as z from 'zod'

/** Steps from the beginning of a file to one of its values: `['songs', 3, 'title']`. */
export type Place = readonly PropertyKey[]

/** A value of a source file, or what is wrong with it, each with its place. */
export type Read<T> = { readonly value: T } | { readonly problems: readonly string[] }

/** Holds a value against what its place must have. */
export function readAt<T>(schema: z.ZodType<T>, value: unknown, place: Place): Read<T> {
  const parsed = schema.safeParse(value)
  if (parsed.success) return { value: parsed.data }
  const lines = parsed.error.issues.map(({ path, message }) => `${placeText([...place, ...path])}: ${message}`)
  return { problems: lines }
}

/** `songs[3].title`, and `the file` for all of it. */
export function placeText(place: Place): string {
  const text = place.map((step) => (typeof step === 'number' ? `[${step}]` : `.${String(step)}`)).join('')
  return text.replace(/^\./, '') || 'the file'
}
