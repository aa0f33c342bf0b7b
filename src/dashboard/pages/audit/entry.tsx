import type { ReactNode } from 'react'
import type { GrantResponse, SettingsResponse } from '../../../contract/api.ts'
import { number, share, t } from '../../i18n/text.ts'
import { type Entry, emptiedIn, type Note, type Story, storyOf } from '../../logic/audit-story.ts'
import { hashOf } from '../../logic/location.ts'
import { wholeSentence } from '../../logic/whole-sentence.ts'
import { Filled } from '../../ui/filled.tsx'
import { Moment } from '../../ui/moment.tsx'
import { Name, Tag, WayTo } from '../../ui/small.tsx'
import { UnfollowedValues } from '../limits/unfollowed.tsx'
import { ChangeLines, changedName, changedValue } from './values.tsx'
import './audit.css'

interface EntryProps {
  readonly entry: Entry
  /** The file's present values; `null` if unknown. */
  readonly file: SettingsResponse | null
  /** The number of the change that has undone it; `null` if none did. */
  readonly undoneBy: number | null
  /** The button that undoes the change. */
  readonly action: ReactNode
}

/** One change as a sentence, with its values and its reason. */
export function EntryItem({ entry, file, undoneBy, action }: EntryProps) {
  const story = storyOf(entry, file)
  return (
    <li className="audit-entry">
      <div className="audit-when">
        <Moment at={entry.at} isPast />
        <span className="muted">#{entry.version}</span>
      </div>
      <div className="audit-what">
        <p>
          <EntrySentence entry={entry} story={story} />
        </p>
        {undoneBy !== null && (
          <p>
            <Tag tone="info">{t('audit.undone')}</Tag>{' '}
            <a href={hashOf('audit', null, { before: String(undoneBy + 1) })}>
              {t('audit.undoneBy', { version: undoneBy })}
            </a>
          </p>
        )}
        <ChangeLines changes={story.changes} />
        {entry.what === 'overrides' && <Sample of={entry} />}
        {story.notes.map((note) => (
          <p key={JSON.stringify(note)} className="muted">
            <NoteText note={note} />
          </p>
        ))}
        <UnfollowedValues values={entry.unfollowed ?? []} />
        {entry.movesNobody === true && <p className="muted">{t('audit.movedNobody')}</p>}
        {story.why !== null && (
          <p className="muted">
            <Filled text={t('audit.why')} parts={{ why: <Name of={story.why} /> }} />
          </p>
        )}
      </div>
      {action}
    </li>
  )
}

interface EntrySentenceProps {
  readonly entry: Entry
  readonly story: Story
  /** Whether the sentence stands without the list of values below it. Default false. */
  readonly isAlone?: boolean
}

/** Who changed what. */
export function EntrySentence({ entry, story, isAlone = false }: EntrySentenceProps) {
  const text = t(`audit.say.${story.sentence}`)
  const parts = partsOf(entry, story)
  return <Filled text={isAlone ? wholeSentence(text) : text} parts={parts} />
}

function partsOf(
  entry: Entry,
  { by, old, undone, at, counts = {}, share: part, change }: Story,
): Record<string, ReactNode> {
  const shown = (value: unknown) => <strong>{changedValue(change?.path ?? '', value)}</strong>
  const before = (): ReactNode =>
    change?.from === undefined && change?.file !== undefined
      ? t('audit.fileValue', { value: changedValue(change.path, change.file) })
      : shown(change?.from)
  const { category, organisation } = emptiedIn(entry)
  return {
    who: <Name of={entry.who} />,
    by: <Name of={by ?? ''} />,
    old: <KeyId of={old ?? ''} />,
    undone: undone === undefined ? '' : String(undone),
    ...(at !== undefined && { at: <Moment at={at} /> }),
    ...Object.fromEntries(Object.entries(counts).map(([name, count]) => [name, number(count)])),
    ...(part !== undefined && { share: share(part) }),
    ...(change && { name: <bdi>{changedName(change.path)}</bdi>, from: before(), to: shown(change.to) }),
    subject: <Subject of={entry} />,
    category: <bdi>{category}</bdi>,
    organisation: <WayTo page="organisations" id={organisation} />,
    ...partsOfKey(entry),
    ...(entry.what === 'grant' && partsOfGrant(entry)),
  }
}

/** In the sentence about a grant, the subject is the owner of the grant. */
function partsOfGrant({ to }: Entry): Record<string, ReactNode> {
  const { user, organisation = '', category = '' } = (to ?? {}) as Partial<GrantResponse>
  const [page, id] = user === undefined ? (['organisations', organisation] as const) : (['users', user] as const)
  return {
    category: <bdi>{category}</bdi>,
    subject: <WayTo page={page} id={id} />,
  }
}

function Subject({ of: { what, subject } }: { readonly of: Entry }) {
  if (subject === null) return null
  const page = what === 'organisation_override' ? 'organisations' : 'users'
  return <WayTo page={page} id={subject} />
}

/** Links to the key, because several may have the same user and name. */
function KeyId({ of }: { readonly of: string }) {
  return (
    <a href={hashOf('keys', null, { query: of })}>
      <code>{/^(?:imported-)?.{0,8}/.exec(of)?.[0]}</code>
    </a>
  )
}

/** An access key has a name for people, and an id. */
function partsOfKey({ subject, to }: Entry): Record<string, ReactNode> {
  const { user = '', name = '' } = (to ?? {}) as { readonly user?: string; readonly name?: string }
  return {
    key: (
      <>
        <Name of={name} /> <KeyId of={subject ?? ''} />
      </>
    ),
    user: <WayTo page="users" id={user} />,
  }
}

/** The first users and organisations whose overrides a file has changed. */
function Sample({ of: { from, to } }: { readonly of: Entry }) {
  const all = (['users', 'organisations'] as const).flatMap((page) =>
    [...new Set([...idsIn(page, from), ...idsIn(page, to)])].map((id) => ({ page, id })),
  )
  if (all.length === 0) return null
  return (
    <p>
      {all.map(({ page, id }, place) => (
        <span key={`${page} ${id}`}>
          {place > 0 && ', '}
          <WayTo page={page} id={id} />
        </span>
      ))}
    </p>
  )
}

function idsIn(page: 'users' | 'organisations', side: unknown): string[] {
  const { overrides = {}, organisations = {} } = (side ?? {}) as {
    readonly overrides?: object
    readonly organisations?: object
  }
  return Object.keys(page === 'users' ? overrides : organisations)
}

function NoteText({ note }: { readonly note: Note }) {
  if (note.kind === 'guardEnded') return t('audit.note.guardEnded')
  const from = note.kind === 'moved' && <Moment at={note.from} />
  const parts = { from, at: <Moment at={note.at} />, share: note.kind === 'guarded' ? share(note.share) : '' }
  return <Filled text={t(`audit.note.${note.kind}`)} parts={parts} />
}
