/** Invisible characters, characters that reverse the text around them, and spaces other than single plain ones inside. */
const UNSEEN = /[\p{Cf}\p{Default_Ignorable_Code_Point}\p{Zl}\p{Zp}]|[^\P{Zs} ]|(?<=^| ) | $/gu

/** A name that somebody else chose, in which invisible characters become visible, so that different names never look alike. */
export function visible(name: string): string {
  return name.replace(UNSEEN, (character) => `⟨U+${hexOf(character)}⟩`)
}

function hexOf(character: string): string {
  return (character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')
}
