import { NativeSelect, type NativeSelectProps } from '@mantine/core'
import { type FormEvent, useEffect, useRef, useState } from 'react'
import { t } from '../i18n/text.ts'
import { fieldProblems } from './failure.tsx'
import { focusNear, useFocusKept } from './focus-back.ts'
import { Plain } from './small.tsx'

/** The value and the change handler of a field, as its props. @param error shown below it; nothing if empty */
export function bound<T extends string | null | undefined>(
  value: string,
  onChange: (value: string) => void,
  error?: T,
) {
  return {
    ...{ value, error },
    onChange: (event: { readonly currentTarget: { readonly value: string } }) => onChange(event.currentTarget.value),
  }
}

interface ChoiceProps<T extends string> extends Omit<NativeSelectProps, 'value' | 'onChange' | 'data'> {
  readonly values: readonly T[]
  /** The label of each value. Default the value itself. */
  readonly nameOf?: (value: T) => string
  /** The label for choosing none of them. */
  readonly none: string
  /** The chosen value, even if it is no longer offered; empty for none. */
  readonly value: string
  readonly onChoose: (value: T | '') => void
}

/** A choice of one of several values, or of none. */
export function Choice<T extends string>({ values, nameOf = String, none, value, onChoose, ...props }: ChoiceProps<T>) {
  const all = values.some((each) => each === value) || value === '' ? values : [...values, value as T]
  const data = [{ value: '', label: none }, ...all.map((each) => ({ value: each, label: nameOf(each) }))]
  return <NativeSelect data={data} {...bound(value, (text) => onChoose(text as T | ''))} {...props} />
}

/** What is wrong with fields, in words, by their paths in the API. */
export type FieldProblems = Readonly<Record<string, string>>

interface FormOptions {
  /** Finds what is wrong before anything is sent; `false` for fields without a problem. Default nothing. */
  readonly check?: () => Readonly<Record<string, string | false>>
  /** Sends the form. @throws Error if the action was not done, or if that is unknown */
  readonly send: () => Promise<void> | void
  /** Called on a failure. Default nothing. */
  readonly onError?: (error: Error) => unknown
}

/** The state of a form that can be sent: its problems, whether it is being sent, and why that failed. */
export function useForm({ check = () => ({}), send, onError }: FormOptions) {
  const [problems, setProblems] = useState<FieldProblems>({})
  const [error, setError] = useState<Error | null>(null)
  const [busy, setBusy] = useState(false)
  const button = useFocusKept(busy)
  const ref = useFocusWrong(problems)

  async function submit(event?: FormEvent): Promise<void> {
    event?.preventDefault()
    const found = Object.entries(check()).filter((each): each is [string, string] => each[1] !== false)
    setProblems(Object.fromEntries(found))
    setError(null)
    if (found.length > 0) return
    setBusy(true)
    try {
      await send()
    } catch (caught) {
      setError(caught as Error)
      setProblems(fieldProblems(caught as Error))
      onError?.(caught as Error)
    } finally {
      setBusy(false)
    }
  }

  return {
    ...{ problems, error, busy, submit },
    /** Forgets the problems and the error. */
    clear(): void {
      setProblems({})
      setError(null)
    },
    /** Props of the form and of its button. */
    form: { ref, onSubmit: submit, noValidate: true },
    submitter: { ref: button, type: 'submit', loading: busy } as const,
  }
}

/**
 * Moves the focus to the first wrong field of a form, which may be far above the pressed button.
 * @param findings the problems from page and API, new objects for each attempt
 * @returns ref of the form
 */
export function useFocusWrong(...findings: readonly unknown[]) {
  const form = useRef<HTMLFormElement>(null)
  // biome-ignore lint/correctness/useExhaustiveDependencies: only new findings move the focus
  useEffect(() => form.current?.querySelector<HTMLElement>('[aria-invalid="true"]')?.focus(), findings)
  return form
}

/** Discards the edits of a form. */
export function Discard({ disabled, onDiscard }: { readonly disabled: boolean; readonly onDiscard: () => void }) {
  return (
    <Plain
      disabled={disabled}
      onClick={({ currentTarget }) => {
        focusNear(currentTarget)
        onDiscard()
      }}
    >
      {t('quotas.discard')}
    </Plain>
  )
}
