/** A window of the day that all examples show: it began at 10:10 and is reset at 11:10. */
export function hourOf(scope: 'Personal' | 'Organisation' | 'Global', limit: number, used: number) {
  return {
    scope,
    window: '1h',
    limit,
    used,
    remaining: limit - used,
    startedAt: '2026-11-20T10:10:00.000Z',
    resetAt: '2026-11-20T11:10:00.000Z',
  }
}
