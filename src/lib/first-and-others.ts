/** The parts of an object that is its own first part, and has the others in `others`: a charge, a decision, a rule. */
export function firstAndOthers<T extends object>(
  whole: T & { readonly others?: readonly T[] | null | undefined },
): readonly T[] {
  return whole.others == null ? [whole] : [whole, ...whole.others]
}
