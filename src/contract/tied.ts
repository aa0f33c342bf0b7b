import type { z } from 'zod'

/** Without the `undefined` that zod gives to members which may be missing; never written to, at any depth. */
type Exact<T> = T extends object ? { readonly [K in keyof T]: Exact<Exclude<T[K], undefined>> } : T
/** With every member: of two types that differ in an optional member each may stand for the other, but of these neither. */
type Full<T> = T extends object ? { readonly [K in keyof T]-?: Full<T[K]> } : T

type Same<A, B> = [A, B, Full<A>, Full<B>] extends [B, A, Full<B>, Full<A>]
  ? unknown
  : 'the body differs from its schema'

/**
 * The schema of a body that the domain has an interface for, as in `tied<RefusalBody>()(z.strictObject({ … }))`. It compiles only while
 * both have the same members, so that nobody can change what is sent and leave the document behind.
 */
export function tied<Body>() {
  return <S extends z.ZodType>(schema: S & Same<Exact<Body>, Exact<z.output<S>>>): S => schema
}
