import { Alert } from '@mantine/core'
import type { ReactNode } from 'react'

export type Tone = 'good' | 'warn' | 'bad' | 'info'
const COLOURS = { good: 'green', warn: 'yellow', bad: 'red', info: 'blue' } as const

/** Something worth reading, with a colour that its words do not depend on. `live` ones are read out when they appear. */
export function Note({
  tone,
  title,
  live = tone === 'bad' || tone === 'good',
  children,
}: {
  readonly tone: Tone
  readonly title?: ReactNode
  readonly live?: boolean
  readonly children?: ReactNode
}) {
  // Without a role Mantine makes it an alert, which screen readers read out at once.
  const role = live ? (tone === 'bad' ? 'alert' : 'status') : 'note'
  return (
    <Alert color={COLOURS[tone]} title={title} role={role} className="note">
      {children}
    </Alert>
  )
}
