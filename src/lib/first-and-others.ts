/** The parts of what is its own first part and names the further ones beside, as a charge, a decision and a rule of several meters do. */
export function firstAndOthers<T extends object>(
  whole: T & { readonly others?: readonly T[] | null | undefined },
): readonly T[] {
  return whole.others == null ? [whole] : [whole, ...whole.others]
}
