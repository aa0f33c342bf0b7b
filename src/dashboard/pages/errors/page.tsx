import { useTexts } from '../../i18n/text.tsx'
import { PageTitle } from '../../ui/panel.tsx'
import { Failures } from './failures.tsx'

export function ErrorsPage() {
  const { t } = useTexts()
  return (
    <>
      <PageTitle>{t('page.errors')}</PageTitle>
      <Failures />
    </>
  )
}
