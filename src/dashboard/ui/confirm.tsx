import { Button, Modal, TextInput } from '@mantine/core'
import { type ReactNode, useState } from 'react'
import { t } from '../i18n/text.ts'
import { Failed } from './failure.tsx'
import { useFocusBack } from './focus-back.ts'
import { bound, useForm } from './form.tsx'

/** The id of where dialogs are put: with the page, so that they wait behind the sign-in with it and do not lie over it. */
export const DIALOGS = 'dialogs'

/** Why something is done, as a body has it: empty where nobody said. */
export interface Reason {
  readonly reason?: string
}

export interface ConfirmProps {
  readonly title: string
  readonly action: string
  readonly danger?: boolean
  /** Whether a reason must be given; without, it may be. */
  readonly needsReason?: boolean
  /** What stands in the field of the reason at first. Default nothing. */
  readonly reason?: string
  readonly onConfirm: (reason: Reason) => Promise<void>
  readonly onClose: () => void
  readonly children: ReactNode
}

/** Says what is about to happen, asks why, and does it. */
export function Confirm({
  title,
  action,
  danger,
  needsReason,
  reason: given = '',
  onConfirm,
  onClose,
  children,
}: ConfirmProps) {
  const [reason, setReason] = useState(given)
  const { problems, error, busy, form, submitter } = useForm({
    check: () => ({ reason: needsReason === true && reason.trim() === '' && t('problem.reason') }),
    async send() {
      await onConfirm(reason.trim() === '' ? {} : { reason: reason.trim() })
      onClose()
    },
  })
  // A modal returns the focus when it is asked to close, and this one is gone then.
  useFocusBack(() => document.activeElement)

  // What was sent is done, or not: who closed the dialog meanwhile would never read which.
  const close = (): void => {
    if (!busy) onClose()
  }

  // Locking the scroll would put a <style> element into the page, which the Content-Security-Policy forbids. The second click of
  // a double click on what opens it is outside, as is one that would lose the reason that was typed.
  return (
    <Modal
      opened
      title={title}
      onClose={close}
      portalProps={{ target: `#${DIALOGS}` }}
      lockScroll={false}
      closeOnClickOutside={false}
      closeButtonProps={{ 'aria-label': t('word.close'), disabled: busy }}
    >
      <form {...form}>
        {children}
        <TextInput
          label={t('word.reason')}
          description={t('word.reasonHelp')}
          required={needsReason === true}
          maxLength={500}
          {...bound(reason, setReason, problems.reason)}
          data-autofocus
        />
        <Failed error={error} />
        <div className="actions">
          <Button {...submitter} color={danger ? 'red' : 'blue'}>
            {action}
          </Button>
          <Button variant="default" onClick={close} disabled={busy}>
            {t('word.cancel')}
          </Button>
        </div>
      </form>
    </Modal>
  )
}

interface AskProps extends Omit<ConfirmProps, 'onClose'> {
  /** What opens the question, and its name where that says too little. */
  readonly button: string
  readonly label?: string
  readonly disabled?: boolean
  /** What became of it, while nothing is asked. */
  readonly outcome?: ReactNode
}

/** A button, and the question that it opens. */
export function Ask({ button, label, disabled = false, outcome, ...question }: AskProps) {
  const [isAsking, setAsking] = useState(false)
  return (
    <>
      <Button variant="default" disabled={disabled} aria-label={label} onClick={() => setAsking(true)}>
        {button}
      </Button>
      {isAsking ? <Confirm {...question} onClose={() => setAsking(false)} /> : outcome}
    </>
  )
}
