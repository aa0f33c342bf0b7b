/** What is not seen, what turns the text around it, and spaces that are no plain single ones inside of it. */
const UNSEEN = /[\p{Cf}\p{Default_Ignorable_Code_Point}\p{Zl}\p{Zp}]|[^\P{Zs} ]|(?<=^| ) | $/gu

/** A name that somebody else chose, such that two that are different never look alike for want of a character that can be seen. */
export function visible(name: string): string {
  return name.replace(UNSEEN, (character) => `⟨U+${hexOf(character)}⟩`)
}

function hexOf(character: string): string {
  return (character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')
}
