import type { ReactNode } from 'react'
import { t } from '../../i18n/text.ts'
import type { Kind } from '../../logic/list-filter.ts'
import { type Fields, hashOf } from '../../logic/location.ts'
import { goBackTo } from '../../ui/address.tsx'
import { useKept } from '../../ui/kept-state.tsx'
import { PageTitle } from '../../ui/panel.tsx'
import { Name, Note } from '../../ui/small.tsx'
import './users.css'

const NO_FIELDS: Fields = {}

interface OwnPageProps {
  readonly kind: Kind
  readonly id: string
  readonly children: ReactNode
}

/** The page of a user or an organisation: its name, and the way back to the list, as it was looked through last. */
export function OwnPage({ kind, id, children }: OwnPageProps) {
  const [fields] = useKept<Fields>(`${kind} search`, NO_FIELDS)
  const list = hashOf(kind, null, fields)
  // These are no ids. A browser takes them for steps from folder to folder, percent-encoded too, and asks for another address.
  const isStep = id === '.' || id === '..'
  return (
    <>
      <div className="wrap own-head">
        <PageTitle>
          <Name of={id} />
        </PageTitle>
        <a
          href={list}
          onClick={(event) => !event.ctrlKey && !event.metaKey && goBackTo(list) && event.preventDefault()}
        >
          ← {t(`${kind}.back`)}
        </a>
      </div>
      {isStep ? (
        <Note tone="warn">
          <p>{t(`${kind}.dots`)}</p>
        </Note>
      ) : (
        children
      )}
    </>
  )
}
