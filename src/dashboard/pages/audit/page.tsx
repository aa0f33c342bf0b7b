import { TextInput } from '@mantine/core'
import { useState } from 'react'
import type { AuditResponse } from '../../../contract/api.ts'
import { serverNow } from '../../api/client.ts'
import { useMayChange, useQuota } from '../../api/session.tsx'
import { usePoll } from '../../api/use-poll.ts'
import { t } from '../../i18n/text.ts'
import { type Entry, isOver, isUndoable, KINDS, type Kind } from '../../logic/audit-story.ts'
import { undoneBy } from '../../logic/audit-undone.ts'
import { type Fields, queryOf } from '../../logic/location.ts'
import { changeFields, lookFor, useFields } from '../../ui/address.tsx'
import { bound, Choice } from '../../ui/form.tsx'
import { Loaded, Panel, Turning } from '../../ui/panel.tsx'
import { useRange } from '../../ui/range.tsx'
import { Note, Plain, Tag } from '../../ui/small.tsx'
import { useTyped } from '../../ui/typed.ts'
import { EntryItem } from './entry.tsx'
import { UndoDialog } from './undo.tsx'

const EVERY_MS = 5000
const A_PAGE = 50
/** An undo is searched for among this many of the latest entries. */
const LATEST = 200
const LATEST_EVERY_MS = 30_000

/** Changes at run time, filtered by author, kind and subject, each with its undo. */
export function AuditPage() {
  const fields = useFields()
  const filters = filtersOf(fields)
  const before = placeIn(fields)
  const { from, to } = useRange()
  const [who, about] = [useTyped(filters.who), useTyped(filters.about)]
  const asked = { who, what: filters.what, about, from, to: to ?? '' }
  const hasFilter = Object.values(asked).some((each) => each !== '')
  const poll = usePoll<AuditResponse>(`/api/audit?${queryOf({ ...asked, before, limit: String(A_PAGE) })}`, EVERY_MS)
  const file = useQuota(60_000)?.file ?? null
  const [undoing, setUndoing] = useState<Entry | null>(null)
  const [done, setDone] = useState<Done | null>(null)
  // The undo may be on a previous page, or not match the filter.
  const isNewest = !hasFilter && before === ''
  const newest = usePoll<AuditResponse>(isNewest ? null : `/api/audit?limit=${LATEST}`, LATEST_EVERY_MS)
  const undone = undoneBy([...(poll.data?.entries ?? []), ...(newest.data?.entries ?? [])])
  return (
    <>
      <Panel title={t('audit.title')}>
        <Filters {...filters} />
        <p>
          <a href={`/api/audit?${queryOf({ ...asked, format: 'csv' })}`} download>
            {t('audit.csv')}
          </a>
        </p>
        {done !== null && (
          <Note tone="good">{t(done.wasNeeded ? 'undo.done' : 'undo.already', { version: done.version })}</Note>
        )}
        <Loaded poll={poll}>
          {({ entries, next, forgotten }) => (
            <>
              {entries.length === 0 && <p className="muted">{t(noneText(hasFilter, next))}</p>}
              <ol className="plain audit" aria-label={t('audit.title')}>
                {entries.map((entry) => (
                  <EntryItem
                    key={entry.version}
                    entry={entry}
                    file={file}
                    undoneBy={undone.get(entry.version) ?? null}
                    action={
                      undone.has(entry.version) ? null : <UndoButton entry={entry} onClick={() => setUndoing(entry)} />
                    }
                  />
                ))}
              </ol>
              {forgotten > 0 && <p className="muted">{t('audit.forgotten', { count: forgotten })}</p>}
              <Turning
                of="past"
                onFirst={before === '' ? null : () => changeFields({ before: null }, true)}
                onNext={next === null ? null : () => changeFields({ before: String(next) }, true)}
              />
            </>
          )}
        </Loaded>
      </Panel>
      {undoing !== null && (
        <UndoDialog
          entry={undoing}
          file={file}
          onClose={() => setUndoing(null)}
          onDone={(wasNeeded) => {
            setDone({ version: undoing.version, wasNeeded })
            poll.reload()
            newest.reload()
          }}
        />
      )}
    </>
  )
}

interface Done {
  readonly version: number
  readonly wasNeeded: boolean
}

function noneText(hasFilter: boolean, next: number | null) {
  if (!hasFilter) return 'audit.none'
  return next === null ? 'audit.noneFound' : 'audit.noneHere'
}

/** The place of the page in the audit, which is the `next` of the page before it; empty for the newest page. */
function placeIn({ before = '' }: Fields): string {
  return /^[1-9]\d{0,14}$/.test(before) ? before : ''
}

function UndoButton({ entry, onClick }: { readonly entry: Entry; readonly onClick: () => void }) {
  const may = useMayChange()
  if (isOver(entry, serverNow())) return <Tag>{t('audit.over')}</Tag>
  if (!may || !isUndoable(entry)) return null
  return (
    <Plain size="compact-sm" aria-label={t('undo.of', { version: entry.version })} onClick={onClick}>
      {t('undo.button')}
    </Plain>
  )
}

interface AuditFilters {
  /** As it was typed. */
  readonly who: string
  readonly what: Kind | ''
  /** As it was typed. */
  readonly about: string
}

/** The filters in the address. An unknown kind means any. */
function filtersOf({ who = '', what = '', about = '' }: Fields): AuditFilters {
  const kind = KINDS.find((known) => known === what) ?? ''
  return { who: who.slice(0, MOST), what: kind, about: about.slice(0, MOST) }
}

const MOST = 512

const TYPED = ['who', 'about'] as const

/** Which changes are listed. */
function Filters(filters: AuditFilters) {
  const isAny = filters.who === '' && filters.what === '' && filters.about === ''
  return (
    <search className="filters">
      <Choice
        {...{ label: t('audit.kind'), none: t('audit.kind.any'), value: filters.what, values: KINDS }}
        nameOf={(kind) => t(`audit.${kind}`)}
        onChoose={(what) => lookFor({ what })}
      />
      {TYPED.map((name) => (
        <TextInput
          key={name}
          label={t(`audit.${name}`)}
          type="search"
          maxLength={256}
          {...bound(filters[name], (text) => lookFor({ [name]: text }))}
        />
      ))}
      <Plain disabled={isAny} onClick={() => lookFor({ who: '', what: '', about: '' })}>
        {t('audit.clear')}
      </Plain>
    </search>
  )
}
