import { Button, Modal, TextInput } from '@mantine/core'
import { type ReactNode, useState } from 'react'
import { t } from '../i18n/text.ts'
import { Failed } from './failure.tsx'
import { useFocusBack } from './focus-back.ts'
import { bound, useForm } from './form.tsx'
import { Plain } from './small.tsx'

/** The id of the container for dialogs. It belongs to the page, so that dialogs wait with it behind the sign-in. */
export const DIALOGS = 'dialogs'

/** The reason of an action, as in a body; empty if none is given. */
export interface Reason {
  readonly reason?: string
}

export interface ConfirmProps {
  readonly title: string
  readonly action: string
  readonly danger?: boolean
  /** Whether a reason must be given. Otherwise it is optional. */
  readonly needsReason?: boolean
  /** The initial text of the reason. Default empty. */
  readonly reason?: string
  readonly onConfirm: (reason: Reason) => Promise<void>
  readonly onClose: () => void
  readonly children: ReactNode
}

/** Says what is about to happen, asks for a reason, and does it. */
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
  // A modal returns the focus when `opened` becomes false, but this one is removed instead.
  useFocusBack(() => document.activeElement)

  // Somebody who closed the dialog while the request is under way would never learn its outcome.
  const close = (): void => {
    if (!busy) onClose()
  }

  // Locking the scroll would put a <style> element into the page, which the Content-Security-Policy forbids. A click outside
  // does not close the dialog: the second click of a double click on its opener is one, and a typed reason would be lost.
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
          <Plain onClick={close} disabled={busy}>
            {t('word.cancel')}
          </Plain>
        </div>
      </form>
    </Modal>
  )
}

interface AskProps extends Omit<ConfirmProps, 'onClose'> {
  /** The text of the button that opens the question; `label` is a longer name for the button if needed. */
  readonly button: string
  readonly label?: string
  readonly disabled?: boolean
  /** The outcome, shown in place of the question. Default nothing. */
  readonly outcome?: ReactNode
}

/** A button and the question that it opens. */
export function Ask({ button, label, disabled = false, outcome, ...question }: AskProps) {
  const [isAsking, setAsking] = useState(false)
  return (
    <>
      <Plain disabled={disabled} aria-label={label} onClick={() => setAsking(true)}>
        {button}
      </Plain>
      {isAsking ? <Confirm {...question} onClose={() => setAsking(false)} /> : outcome}
    </>
  )
}
