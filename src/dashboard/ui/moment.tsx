import { useEffect, useState } from 'react'
import { serverNow } from '../api/client.ts'
import { useTexts } from '../i18n/text.tsx'
import { At } from './small.tsx'

const EVERY_MS = 10_000

/** The clock of the gateway, every few seconds anew. In milliseconds since the epoch. */
function useServerNow(): number {
  const [now, setNow] = useState(serverNow)
  useEffect(() => {
    const timer = setInterval(() => setNow(serverNow()), EVERY_MS)
    return () => clearInterval(timer)
  }, [])
  return now
}

/** A moment, and how far it is from now: `27 Nov 2026, 09:26:00 (in 44 minutes)`. @param at in ISO 8601 */
export function Moment({ at }: { readonly at: string }) {
  const { relative } = useTexts()
  const now = useServerNow()
  return (
    <span className="moment">
      <At at={at} /> <span className="muted">({relative(Date.parse(at) - now)})</span>
    </span>
  )
}

/** The same with the time of day alone, for what ends soon. @param at in ISO 8601 */
export function Until({ at }: { readonly at: string }) {
  const { relative, clock, time } = useTexts()
  const now = useServerNow()
  const ms = Date.parse(at) - now
  return (
    <time dateTime={at} title={time(at)}>
      {ms < A_DAY_MS ? clock(new Date(at)) : time(at)} ({relative(ms)})
    </time>
  )
}

const A_DAY_MS = 86_400_000
