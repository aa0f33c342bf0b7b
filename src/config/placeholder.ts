/**
 * Placeholders of other gateways: `{user}`, `{{ user }}`, `%{user}`. A name has no digit, because some write GUIDs in braces.
 * `${user}` as a literal text is written `$${user}`.
 */
const PLACEHOLDER = /(?<!\$)%?\{\{?\s*[A-Za-z_][A-Za-z_.]*\s*\}?\}/

/** A part that looks like a placeholder, in a text that is used literally; `null` if there is none. */
export function placeholderIn(text: string): string | null {
  return PLACEHOLDER.exec(text)?.[0] ?? null
}

/** The names in a path like `a.b`, `$.a.b` or `/a/b`; `null` for a plain name or a URL. */
export function membersIn(name: string): string[] | null {
  const [, dotted, pointer] = /^(?:(?:\$\.)?([\w-]+(?:\.[\w-]+)*)|\/([\w-]+(?:\/[\w-]+)*))$/.exec(name) ?? []
  const names = dotted?.split('.') ?? pointer?.split('/') ?? []
  return names.length > 1 || (names.length === 1 && /^[$/]/.test(name)) ? names : null
}

/** A nested member as JSON, with "…" for its value. */
export function nested(names: readonly string[]): string {
  return names.reduceRight((inner, name) => `{ ${JSON.stringify(name)}: ${inner} }`, '"…"')
}
