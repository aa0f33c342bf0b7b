import type { z } from 'zod'

/** `max_header_size` is `maxHeaderSize`. */
type Camel<K> = K extends `${infer Head}_${infer Tail}` ? `${Head}${Capitalize<Camel<Tail>>}` : K

type Renamed<K, N> = K extends keyof N ? N[K] & string : Camel<K> & string

/** The form of a section in the program. */
export type Domain<T, N> = {
  -readonly [K in keyof T as Renamed<K, N>]-?: undefined extends T[K] ? Exclude<T[K], undefined> | null : T[K]
}

/**
 * A section in the words of the domain. Each key is in camel case, or named by `names`, and is `null` if the file lacks
 * it. `in` is the section as in the file.
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
