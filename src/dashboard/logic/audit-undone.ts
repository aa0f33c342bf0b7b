/** The reason of an undo as the API writes it, with the number of the undone change and the given reason. */
export const UNDO = /^undo of (\d+)(?:: (.*))?$/s

/**
 * The number of the undoing change, by that of the undone one. A change is left out if its undo was itself undone.
 * @param entries in any order, with repetitions
 */
export function undoneBy(
  entries: readonly { readonly version: number; readonly why: string | null }[],
): ReadonlyMap<number, number> {
  const found = new Map<number, number>()
  for (const { version, why } of entries.toSorted((a, b) => b.version - a.version)) {
    const undone = Number(UNDO.exec(why ?? '')?.[1] ?? Number.NaN)
    if (undone < version && !found.has(version) && !found.has(undone)) found.set(undone, version)
  }
  return found
}
