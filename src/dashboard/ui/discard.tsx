import { Button } from '@mantine/core'
import { useTexts } from '../i18n/text.tsx'
import { focusNear } from './focus-back.ts'

/** Gives up what was edited in a form. */
export function Discard({ disabled, onDiscard }: { readonly disabled: boolean; readonly onDiscard: () => void }) {
  const { t } = useTexts()
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
