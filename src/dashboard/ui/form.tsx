import { Button, NativeSelect, type NativeSelectProps } from '@mantine/core'
import { type FormEvent, useEffect, useRef, useState } from 'react'
import { t } from '../i18n/text.ts'
import { fieldProblems } from './failure.tsx'
import { focusNear, useFocusKept } from './focus-back.ts'

/** What a field shows and whom it reports to, as props of it. @param error what is said under it; nothing if it is empty */
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
  /** How each is called. Default as it is. */
  readonly nameOf?: (value: T) => string
  /** What it is called that none of them is chosen. */
  readonly none: string
  /** The one that is chosen, also if it is not among them any more; empty for none. */
  readonly value: string
  readonly onChoose: (value: T | '') => void
}

/** A choice of one of some values, or of none. */
export function Choice<T extends string>({ values, nameOf = String, none, value, onChoose, ...props }: ChoiceProps<T>) {
  const all = values.some((each) => each === value) || value === '' ? values : [...values, value as T]
  const data = [{ value: '', label: none }, ...all.map((each) => ({ value: each, label: nameOf(each) }))]
  return <NativeSelect data={data} {...bound(value, (text) => onChoose(text as T | ''))} {...props} />
}

/** What is wrong, in words, by the field of the API. */
export type FieldProblems = Readonly<Record<string, string>>

interface FormOptions {
  /** What is wrong before anything is sent; fields that are `false` are not. Default nothing. */
  readonly check?: () => Readonly<Record<string, string | false>>
  /** @throws Error if it was not done, or nobody knows */
  readonly send: () => Promise<void> | void
  /** What follows if it was not. Default nothing. */
  readonly onError?: (error: Error) => unknown
}

/** Sends what was typed: what is wrong with it, whether it is on its way, and why it failed. */
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
    /** Forgets what came of it. */
    clear(): void {
      setProblems({})
      setError(null)
    },
    /** Of the form, and of the button that sends it. */
    form: { ref, onSubmit: submit, noValidate: true },
    submitter: { ref: button, type: 'submit', loading: busy } as const,
  }
}

/**
 * Takes the focus to the first field of a form that is wrong: it may be far above the button that was pressed.
 * @param findings what is wrong, of the page and of the API: another one for each attempt
 * @returns of the form
 */
export function useFocusWrong(...findings: readonly unknown[]) {
  const form = useRef<HTMLFormElement>(null)
  // biome-ignore lint/correctness/useExhaustiveDependencies: what is found moves the focus, nothing else
  useEffect(() => form.current?.querySelector<HTMLElement>('[aria-invalid="true"]')?.focus(), findings)
  return form
}

/** Gives up what was edited in a form. */
export function Discard({ disabled, onDiscard }: { readonly disabled: boolean; readonly onDiscard: () => void }) {
  return (
    <Button
      variant="default"
      disabled={disabled}
      onClick={({ currentTarget }) => {
        focusNear(currentTarget)
        onDiscard()
      }}
    >
      {t('quotas.discard')}
    </Button>
  )
}
