import { useTexts } from '../../i18n/text.tsx'
import type { Kind } from '../../logic/list-filter.ts'
import { type Fields, hashOf } from '../../logic/location.ts'
import { useKept } from '../../ui/kept-state.tsx'
import { PageTitle } from '../../ui/panel.tsx'
import { Name } from '../../ui/small.tsx'

const NO_FIELDS: Fields = {}

/** The name of a user or an organisation, and the way back to the list, as it was looked through last. */
export function OwnHead({ kind, id }: { readonly kind: Kind; readonly id: string }) {
  const { t } = useTexts()
  const [fields] = useKept<Fields>(`${kind} search`, NO_FIELDS)
  return (
    <div className="own-head">
      <PageTitle>
        <Name of={id} />
      </PageTitle>
      <a href={hashOf(kind, null, fields)}>← {t(`${kind}.back`)}</a>
    </div>
  )
}
