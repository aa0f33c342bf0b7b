import type * as z from 'zod'

/** The steps from the top of a file to one of its values: `['songs', 3, 'title']`. */
export type Place = readonly PropertyKey[]

/** A value of a source file, or its problems, each with its place. */
export type Read<T> = { readonly value: T } | { readonly problems: readonly string[] }

/** Checks a value against the schema of its place. */
export function readAt<T>(schema: z.ZodType<T>, value: unknown, place: Place): Read<T> {
  const parsed = schema.safeParse(value)
  if (parsed.success) return { value: parsed.data }
  const lines = parsed.error.issues.map(({ path, message }) => `${placeText([...place, ...path])}: ${message}`)
  return { problems: lines }
}

/** The text of a place, for example `songs[3].title`; `the file` for the whole file. */
export function placeText(place: Place): string {
  const text = place.map((step) => (typeof step === 'number' ? `[${step}]` : `.${String(step)}`)).join('')
  return text.replace(/^\./, '') || 'the file'
}
