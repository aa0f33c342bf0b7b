/** The highest limit that any plan gives an organisation, because some users may have it. `null` if no plan limits it. */
export function highestLimit(byPlan: Readonly<Record<string, number>>): number | null {
  const limits = Object.values(byPlan)
  return limits.length === 0 ? null : Math.max(...limits)
}
