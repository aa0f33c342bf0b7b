import { TextInput } from '@mantine/core'
import { useTexts } from '../../i18n/text.tsx'
import { GUARD_TIMES, type Terms } from '../../logic/change-terms.ts'
import { ExpiryField } from '../../ui/expiry.tsx'
import { bound, Choice } from '../../ui/form.tsx'

interface TermsProps {
  readonly terms: Terms
  /** In a narrow window; in a wide one they are always open. */
  readonly isOpen: boolean
  readonly mayChange: boolean
  /** What is wrong, by the path of the API. */
  readonly problemOf: (path: string) => string | undefined
  readonly onChange: (part: Partial<Terms>) => void
}

/** Why, when, for how long and under which guard a change is made. */
export function ChangeTerms({ terms, isOpen, mayChange, problemOf, onChange }: TermsProps) {
  const { t } = useTexts()
  return (
    <fieldset id="change-terms" className="wrap ends change-terms" data-open={isOpen} disabled={!mayChange}>
      <legend className="heard">{t('bar.more')}</legend>
      <TextInput
        label={t('word.reason')}
        maxLength={500}
        {...bound(terms.reason, (reason) => onChange({ reason }), problemOf('reason'))}
      />
      <GuardFields terms={terms} problemOf={problemOf} onChange={onChange} />
      <TextInput
        type="datetime-local"
        label={t('bar.from')}
        {...bound(terms.from, (from) => onChange({ from }), problemOf('from'))}
      />
      <ExpiryField
        label={t('bar.until')}
        never={t('bar.untilNever')}
        value={terms.until}
        keep={null}
        error={problemOf('until')}
        onChange={(until) => onChange({ until })}
      />
    </fieldset>
  )
}

function GuardFields({ terms, problemOf, onChange }: Pick<TermsProps, 'terms' | 'problemOf' | 'onChange'>) {
  const { t } = useTexts()
  return (
    <>
      <Choice
        {...{ label: t('bar.guard'), none: t('bar.guard.none'), value: terms.guard, values: GUARD_TIMES }}
        nameOf={(value) => t(`bar.guard.${value}`)}
        onChoose={(guard) => onChange({ guard })}
        error={problemOf('guard') ?? problemOf('guard.for')}
      />
      {terms.guard !== '' && (
        <TextInput
          label={t('bar.refused')}
          inputMode="decimal"
          {...bound(terms.refused, (refused) => onChange({ refused }), problemOf('guard.refused'))}
        />
      )}
    </>
  )
}
