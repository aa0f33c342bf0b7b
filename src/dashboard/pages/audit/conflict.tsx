import { useEffect, useState } from 'react'
import type { AuditResponse, SettingsResponse } from '../../../contract/api.ts'
import { call } from '../../api/client.ts'
import { t, time } from '../../i18n/text.ts'
import { changesIn, type Entry } from '../../logic/audit-story.ts'
import { Note } from '../../ui/small.tsx'
import { ChangeLines } from './values.tsx'

interface ConflictProps extends Pick<Entry, 'what' | 'subject'> {
  /** The file's values, for settings. */
  readonly file?: SettingsResponse
}

/** Says who else has changed the same thing, from the latest entry of the audit about it. */
export function Conflict({ what, subject, file }: ConflictProps) {
  const [entry, setEntry] = useState<Entry | null>(null)
  useEffect(() => {
    const stop = new AbortController()
    call<AuditResponse>('GET', '/api/audit?limit=50', { signal: stop.signal })
      .then(({ data }) => setEntry(data.entries.find((e) => e.what === what && e.subject === subject) ?? null))
      // The name is only a courtesy. The note does not depend on it.
      .catch(() => {})
    return () => stop.abort()
  }, [what, subject])
  return (
    <Note tone="bad" title={t('conflict.title')}>
      {entry === null ? t('conflict.unknown') : t('conflict.text', { who: entry.who, time: time(entry.at) })}
      {entry && <ChangeLines changes={changesIn(entry, file ?? null)} />}
    </Note>
  )
}
