/** Lists by category as one list. */
export function inOneList<T>(
  byCategory: Readonly<Record<string, readonly T[]>>,
): (T & { readonly category: string })[] {
  return Object.entries(byCategory).flatMap(([category, list]) => list.map((each) => ({ ...each, category })))
}
