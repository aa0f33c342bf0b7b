import type { PreviewResponse, SettingsInForceResponse } from '../../../contract/api.ts'
import { number, t, time, windowName } from '../../i18n/text.ts'
import { changesOf, type Draft } from '../../logic/settings.ts'
import { type Column, DataTable } from '../../ui/data-table.tsx'
import { Until } from '../../ui/moment.tsx'
import { Review } from '../../ui/review.tsx'
import { Note, Tag, WayTo } from '../../ui/small.tsx'
import { ChangeList, LimitTable, Room, TooDear, TooSmall } from './preview-limits.tsx'
import { UnfollowedValues } from './unfollowed.tsx'

interface PreviewProps {
  readonly quota: SettingsInForceResponse
  readonly draft: Draft
  readonly response: PreviewResponse
  readonly at: Date
  readonly onBack: () => void
}

/** What a change would do, by the present counters. */
export function Preview({ quota, draft, response, at, onBack }: PreviewProps) {
  const { organisations } = response
  const shadow = (changesOf(quota, draft).find(({ path }) => path === 'shadow')?.to ?? quota.shadow) === true
  return (
    <Review text={t('preview.counted', { time: time(at) })} onBack={onBack}>
      <h4>{t('page.users')}</h4>
      {shadow && <Note tone="warn">{t('preview.lateShadow')}</Note>}
      <Blocked of={response} rows={response.blocked.map(({ user, ...each }) => ({ ...each, id: user }))} kind="users" />
      {response.movesNobody ? (
        <Note tone="warn">{t('preview.movesNobody')}</Note>
      ) : (
        <p>{t('preview.moved', { moved: number(response.movedCount), scanned: number(response.scanned) })}</p>
      )}
      <UnfollowedValues values={response.unfollowed} />
      {organisations.scanned > 0 && (
        <>
          <h4>{t('page.organisations')}</h4>
          <Blocked
            of={organisations}
            rows={organisations.blocked.map(({ organisation, ...each }) => ({ ...each, id: organisation }))}
            kind="organisations"
          />
        </>
      )}
      <ChangeList quota={quota} draft={draft} />
      <h4>{t('preview.limits')}</h4>
      <LimitTable quota={quota} response={response} />
      <TooSmall quota={quota} response={response} />
      <TooDear response={response} />
      <Yesterday found={response.yesterday} />
      <h4>{t('preview.room')}</h4>
      <Room response={response} cheapest={quota.cheapest} shadow={shadow} />
    </Review>
  )
}

interface BlockedProps {
  readonly of: Omit<PreviewResponse['organisations'], 'blocked'>
  readonly rows: readonly (PreviewResponse['everybody'][number] & { readonly id: string })[]
  readonly kind: 'users' | 'organisations'
}

/** Who would be blocked. */
function Blocked({ of, rows, kind }: BlockedProps) {
  const words = {
    who: t(`page.${kind}`),
    scanned: number(of.scanned),
    blocked: number(of.blockedCount),
    newly: number(of.newlyBlockedCount),
    freed: number(of.freedCount),
  }
  const isNone = of.blockedCount === 0
  return (
    <>
      <Note tone={of.newlyBlockedCount > 0 ? 'warn' : 'info'} live>
        {t(isNone ? 'preview.nobody' : 'preview.blocked', words)}
      </Note>
      {of.blockedCount > rows.length && <p>{t('preview.first', { count: number(rows.length) })}</p>}
      {!isNone && (
        <DataTable
          label={t(`page.${kind}`)}
          columns={[
            {
              ...{ id: 'who', head: t(kind === 'users' ? 'word.user' : 'word.organisation') },
              cell: ({ id, blockedNow }) => (
                <>
                  <WayTo page={kind} id={id} />{' '}
                  <Tag tone={blockedNow ? 'info' : 'warn'}>{t(blockedNow ? 'preview.already' : 'preview.newly')}</Tag>
                </>
              ),
            },
            { id: 'window', head: t('word.window'), cell: (each) => `${each.category} ${windowName(each.window)}` },
            { id: 'used', head: t('word.used'), count: ({ used }) => used },
            { id: 'limit', head: t('preview.limitThen'), count: ({ limit }) => limit },
            {
              ...{ id: 'reset', head: t('word.reset') },
              cell: ({ resetAt }) => (resetAt === null ? '–' : <Until at={resetAt} />),
            },
          ]}
          rows={rows}
          keyOf={({ id, category, window }) => `${id} ${category} ${window}`}
        />
      )}
    </>
  )
}

interface YesterdayProps {
  readonly found: PreviewResponse['yesterday']
}

/** What a change would have refused in the last 24 hours, by the kept history. */
function Yesterday({ found }: YesterdayProps) {
  const above = found.rows.filter((row) => row.above.users > 0)
  return (
    <>
      <h4>{t('yesterday.title')}</h4>
      <Note tone={above.length > 0 ? 'warn' : 'info'} live>
        {above.length === 0
          ? t('yesterday.nobody', { users: number(found.scanned) })
          : above.map(({ category, window, of, above: over }) => (
              <p key={`${category} ${window}`}>
                {t('yesterday.some', {
                  ...{ category, window, users: number(over.users), all: number(of.users) },
                  tokens: number(over.tokens),
                })}
              </p>
            ))}
      </Note>
      <details>
        <summary>{t('yesterday.all')}</summary>
        <AllRows found={found} />
      </details>
      <p className="muted">
        {t('yesterday.approximate')} {!found.complete && t('yesterday.incomplete')}
      </p>
    </>
  )
}

type Row = YesterdayProps['found']['rows'][number]

function AllRows({ found }: YesterdayProps) {
  const partOf = (id: 'runs' | 'tokens', head: string): Column<Row> => ({
    ...{ id, head, isNumber: true },
    cell: ({ above, of }) => `${number(above[id])} / ${number(of[id])}`,
  })
  const columns: readonly Column<Row>[] = [
    { id: 'window', head: t('word.window'), cell: ({ category, window }) => `${category} ${windowName(window)}` },
    { id: 'users', head: t('page.users'), count: ({ of }) => of.users },
    { id: 'above', head: t('yesterday.usersAbove'), count: ({ above }) => above.users },
    partOf('runs', t('yesterday.runsAbove')),
    partOf('tokens', t('yesterday.tokensAbove')),
  ]
  const keyOf = ({ category, window }: Row) => `${category} ${window}`
  return <DataTable look="small" label={t('yesterday.title')} columns={columns} rows={found.rows} keyOf={keyOf} />
}
