import { useEffect, useState } from 'react'
import { serverNow } from '../api/client.ts'
import { clock, relative, time } from '../i18n/text.ts'
import { wholeSecond } from '../logic/format.ts'
import { DAY_MS } from '../logic/half-hour.ts'
import { At } from './small.tsx'

const EVERY_MS = 10_000

type Listener = (now: number) => void

/** All moments share one timer, because a table may have hundreds of them. */
const listeners = new Set<Listener>()
let timer: ReturnType<typeof setInterval> | undefined

function listen(listener: Listener): () => void {
  listeners.add(listener)
  timer ??= setInterval(() => {
    const now = serverNow()
    for (const each of listeners) each(now)
  }, EVERY_MS)
  return () => {
    listeners.delete(listener)
    if (listeners.size > 0) return
    clearInterval(timer)
    timer = undefined
  }
}

/** The time by the gateway's clock, updated every 10 s, in milliseconds since the epoch. */
function useServerNow(): number {
  const [now, setNow] = useState(serverNow)
  useEffect(() => listen(setNow), [])
  return now
}

interface MomentProps {
  /** In ISO 8601. */
  readonly at: string
  /** Whether the moment is certainly past, even if the clocks differ so that it seems to be ahead. Default false. */
  readonly isPast?: boolean
}

/** A moment and its distance from now: `27 Nov 2026, 09:26:00 (in 44 minutes)`. A future moment is an end, in whole seconds. */
export function Moment({ at, isPast = false }: MomentProps) {
  const now = useServerNow()
  const ms = Date.parse(at) - now
  return (
    <span className="moment">
      <At at={isPast || ms <= 0 ? at : wholeSecond(at)} />{' '}
      <span className="muted">({relative(isPast ? Math.min(0, ms) : ms)})</span>
    </span>
  )
}

/** How long ago something was: `3 minutes ago`. @param at in ISO 8601 */
export function Ago({ at }: { readonly at: string }) {
  const ms = Date.parse(at) - useServerNow()
  return (
    <time dateTime={at} title={time(at)} className="muted">
      {relative(Math.min(0, ms))}
    </time>
  )
}

/** A future moment, as a time of day only if it is less than a day away. @param at in ISO 8601, shown in whole seconds as in the 429 */
export function Until({ at: exact }: { readonly at: string }) {
  const now = useServerNow()
  const at = wholeSecond(exact)
  const ms = Date.parse(at) - now
  return (
    <time dateTime={at} title={time(at)}>
      {ms < DAY_MS ? clock(new Date(at)) : time(at)} ({relative(ms)})
    </time>
  )
}
