import { isJson } from '../lib/json-fault.ts'

/**
 * `{user}`, `{{ user }}`, `%{user}`: what other gateways fill in. A name has no digit, as the GUIDs have that some write in braces;
 * `${user}` is written on purpose, as `$${user}`.
 */
const PLACEHOLDER = /(?<!\$)%?\{\{?\s*[A-Za-z_][A-Za-z_.]*\s*\}?\}/

/** What looks like a placeholder in a text that is taken as it stands; `null` if nothing does. */
export function placeholderIn(text: string): string | null {
  return PLACEHOLDER.exec(text)?.[0] ?? null
}

/** The names in a path of members, like `a.b`, `$.a.b` or `/a/b`; `null` for a plain name, and for a URL. */
export function membersIn(name: string): string[] | null {
  const [, dotted, pointer] = /^(?:(?:\$\.)?([\w-]+(?:\.[\w-]+)*)|\/([\w-]+(?:\/[\w-]+)*))$/.exec(name) ?? []
  const names = dotted?.split('.') ?? pointer?.split('/') ?? []
  return names.length > 1 || (names.length === 1 && /^[$/]/.test(name)) ? names : null
}

/** A member inside of others, as JSON. @param value a text, unless it is a scalar of JSON */
export function nested(names: readonly string[], value: string): string {
  // As the keys of json-scalar.ts are: a text that looks like a number is in quotes.
  const written = isJson(value) ? value : JSON.stringify(value)
  return names.reduceRight((inner, name) => `{ ${JSON.stringify(name)}: ${inner} }`, written)
}
