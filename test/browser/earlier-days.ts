import { setTimeout as sleep } from 'node:timers/promises'

/**
 * Lets days go by within seconds of this process, up to the present: whoever asks for the time meanwhile is told one of these days.
 * Timers stay as they are.
 */
export async function earlierDays(
  { days, seconds }: { days: number; seconds: number },
  live: (past: EarlierDays) => Promise<void>,
): Promise<void> {
  const present = Date.now
  const end = present() + seconds * 1000
  const pace = (days * 86_400) / seconds
  Date.now = () => Math.round(end - Math.max(0, end - present()) * pace)
  try {
    await live({
      isOver: () => present() >= end,
      until: async (daysBefore) => {
        await sleep(Math.max(0, end - (daysBefore * 86_400_000) / pace - present()))
      },
    })
  } finally {
    Date.now = present
  }
}

export interface EarlierDays {
  /** Whether the present is reached. */
  isOver(): boolean
  /** Waits for the moment that lies so many days before the present. */
  until(daysBefore: number): Promise<void>
}
