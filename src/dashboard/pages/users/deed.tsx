import type { ReactNode } from 'react'
import { ApiError, isOutcomeUnknown } from '../../api/client.ts'
import type { Polled } from '../../api/use-poll.ts'
import { Ask, type ConfirmProps, type Reason } from '../../ui/confirm.tsx'
import { Failed } from '../../ui/failure.tsx'
import { useKept } from '../../ui/kept-state.tsx'
import { Changing, Note } from '../../ui/small.tsx'

interface DeedProps<T> extends Pick<Polled<unknown>, 'read' | 'reload'>, Omit<ConfirmProps, 'onConfirm' | 'onClose'> {
  /** Under which its outcome is kept, also if one looks at another page before it is here. */
  readonly name: string
  readonly label: string
  readonly button: string
  readonly send: (reason: Reason) => Promise<T>
  readonly done: (made: T) => ReactNode
}

/** What is done to a user or an organisation once, after a question, and what became of it. */
export function Deed<T extends object>({ name, label, button, send, done, read, reload, ...question }: DeedProps<T>) {
  const [outcome, change] = useKept<T | Error | null>(name, null)
  async function act(reason: Reason): Promise<void> {
    change(() => null)
    try {
      const made = await send(reason)
      await read()
      change(() => made)
    } catch (caught) {
      // A session that is over has the sign-in say so, and its dialog goes on.
      if (!(caught instanceof ApiError && caught.status === 401)) change(() => caught as Error)
      if (!isOutcomeUnknown(caught)) throw caught
      reload()
    }
  }
  return (
    <Changing label={label}>
      <Ask
        {...question}
        button={button}
        danger
        onConfirm={act}
        outcome={outcome instanceof Error && <Failed error={outcome} />}
      />
      {outcome !== null && !(outcome instanceof Error) && <Note tone="good">{done(outcome)}</Note>}
    </Changing>
  )
}
