import { useTexts } from '../../i18n/text.tsx'
import { type Fields, hashOf } from '../../logic/location.ts'
import { useKept } from '../../ui/kept-state.tsx'
import type { Kind } from './used-table.tsx'

const NO_FIELDS: Fields = {}

/** The way back to the list, as it was looked through last. */
export function BackToList({ kind }: { readonly kind: Kind }) {
  const { t } = useTexts()
  const [fields] = useKept<Fields>(`${kind} search`, NO_FIELDS)
  return <a href={hashOf(kind, null, fields)}>← {t(`${kind}.back`)}</a>
}
