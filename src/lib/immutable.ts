/** The same type with all members readonly, at any depth. */
export type Immutable<T> =
  T extends ReadonlyMap<infer K, infer V>
    ? ReadonlyMap<K, V>
    : T extends object
      ? { readonly [K in keyof T]: Immutable<T[K]> }
      : T
