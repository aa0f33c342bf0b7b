import type { z } from 'zod'

/** `max_header_size` becomes `maxHeaderSize`. */
type Camel<K> = K extends `${infer Head}_${infer Tail}` ? `${Head}${Capitalize<Camel<Tail>>}` : K

type Renamed<K, N> = K extends keyof N ? N[K] & string : Camel<K> & string

/** The form of a section in the program. */
export type Domain<T, N> = {
  -readonly [K in keyof T as Renamed<K, N>]-?: undefined extends T[K] ? Exclude<T[K], undefined> | null : T[K]
}

/**
 * Turns a section into the words of the domain. Each key is in camel case, or has the name in `names`. An optional key
 * that the file lacks is `null`, and a key with a default has its default. The section under the keys of the file is
 * the property `in` of the result, which Zod gives to every transformed schema.
 */
export function domain<S extends z.core.$ZodLooseShape, const N extends { readonly [K in keyof S]?: string }>(
  section: z.ZodObject<S, z.core.$strict>,
  names: N,
) {
  const keys = Object.keys(section.shape).map((key) => [key, names[key] ?? camelCase(key)] as const)
  return section.transform((values): Domain<z.output<z.ZodObject<S, z.core.$strict>>, N> => {
    const given: Readonly<Record<string, unknown>> = values
    return Object.fromEntries(keys.map(([key, name]) => [name, given[key] ?? null])) as never
  })
}

function camelCase(key: string): string {
  return key.replace(/_(.)/g, (_all, first: string) => first.toUpperCase())
}
