/**
 * Whether a window has no room for the cheapest request of its category, so that it blocks whoever it belongs to: in a
 * preview, in the list of users, and on the page, which imports it.
 * @param cost of that request; `undefined` where the quota refuses nothing of the category
 */
export function lacksRoom(
  { used, limit }: { readonly used: number; readonly limit: number },
  cost: number | undefined,
): boolean {
  return cost !== undefined && used + cost > limit
}
