import type { OrganisationOverridesInForceResponse } from '../../../contract/api.ts'
import { usePoll } from '../../api/use-poll.ts'
import { useTexts } from '../../i18n/text.tsx'
import { hashOf } from '../../logic/location.ts'
import { Panel } from '../../ui/panel.tsx'
import { WayTo } from '../../ui/small.tsx'

const EVERY_MS = 30_000
const SHOWN = 20

/** The organisations with limits of their own, which hold whatever the plans of their members say; nothing if there are none. */
export function OwnOrganisations() {
  const { t } = useTexts()
  const path = `/api/in-force/organisations?limit=${SHOWN}`
  const { data } = usePoll<OrganisationOverridesInForceResponse>(path, EVERY_MS)
  const own = data?.organisations ?? []
  if (own.length === 0) return null
  return (
    <Panel title={t('page.organisations')}>
      <p>
        {t('plans.own', { count: data?.total ?? own.length })}{' '}
        {own.map(({ organisation }, place) => (
          <span key={organisation}>
            {place > 0 && t('word.listComma')}
            <WayTo page="organisations" id={organisation} />
          </span>
        ))}
        {(data?.total ?? 0) > own.length && (
          <>
            {t('word.listComma')}
            <a href={hashOf('organisations')}>{t('organisations.back')}</a>
          </>
        )}
      </p>
    </Panel>
  )
}
