/** Why the undo of a change was made, as the API writes it: the number of that change, and the reason that was given. */
export const UNDO = /^undo of (\d+)(?:: (.*))?$/s

/**
 * Which change has undone which, by the number of the undone one. A change whose undo was undone itself is in force again.
 * @param entries in any order, each as often as it likes
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
