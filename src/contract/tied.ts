import type { z } from 'zod'

/** Without the `undefined` that zod allows in optional members, and read-only at any depth. */
type Exact<T> = T extends object ? { readonly [K in keyof T]: Exact<Exclude<T[K], undefined>> } : T
/** With every member required, because types that differ only in an optional member can be assigned to each other. */
type Full<T> = T extends object ? { readonly [K in keyof T]-?: Full<T[K]> } : T

type Same<A, B> = [A, B, Full<A>, Full<B>] extends [B, A, Full<B>, Full<A>]
  ? unknown
  : 'the body differs from its schema'

/**
 * The schema of a body for which the domain has an interface, as in `tied<RefusalBody>()(z.strictObject({ … }))`. It compiles only if
 * both have the same members, so that nobody can change what is sent without its document.
 */
export function tied<Body>() {
  return <S extends z.ZodType>(schema: S & Same<Exact<Body>, Exact<z.output<S>>>): S => schema
}
