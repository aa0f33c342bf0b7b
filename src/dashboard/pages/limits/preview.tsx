import type { PreviewResponse, SettingsInForceResponse } from '../../../contract/api.ts'
import { lacksRoom } from '../../../quota/window.ts'
import { number, t, time, windowName } from '../../i18n/text.ts'
import { inOneList } from '../../logic/by-category.ts'
import { limitName } from '../../logic/limit-words.ts'
import { changesOf, type Draft, noneFits } from '../../logic/settings.ts'
import { visible } from '../../logic/visible.ts'
import { type Column, DataTable } from '../../ui/data-table.tsx'
import { FromTo } from '../../ui/from-to.tsx'
import { Until } from '../../ui/moment.tsx'
import { Review } from '../../ui/review.tsx'
import { Note, Tag, WayTo } from '../../ui/small.tsx'
import { nameOf, SCOPES, shownValue, windowNames, wordOf } from './names.ts'
import { UnfollowedValues } from './unfollowed.tsx'

interface PreviewProps extends PreviewOf {
  readonly draft: Draft
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
      <Room response={response} quota={quota} shadow={shadow} />
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

/** The values that a change sets. */
function ChangeList({ quota, draft }: { readonly quota: SettingsInForceResponse; readonly draft: Draft }) {
  return (
    <>
      <h4>{t('preview.changes')}</h4>
      <FromTo
        lines={changesOf(quota, draft).map(({ path, from, to, toFile }) => ({
          ...{ key: path, name: nameOf(path) },
          ...{ from: shownValue(from), to: shownValue(to) },
          more: toFile && (
            <>
              {' '}
              <Tag tone="info">{t('preview.toFile')}</Tag>
            </>
          ),
        }))}
      />
    </>
  )
}

const OF_PLAN = ['personal', 'organisation'] as const
const OF_DEFAULT = ['organisation'] as const

type Limited = SettingsInForceResponse | PreviewResponse

interface PreviewOf {
  readonly quota: SettingsInForceResponse
  readonly response: PreviewResponse
}

/** The limits in force that the change would alter. */
function LimitTable({ quota, response }: PreviewOf) {
  const shown = (limit: number | undefined, beyond: number | undefined) => {
    if (limit === undefined) return '–'
    return beyond === undefined ? number(limit) : `${number(limit)} ${t('word.over', { over: number(beyond) })}`
  }
  const changed = (name: string, textOf: (of: Limited, category: string, window: string) => string) =>
    quota.categories.flatMap((category) =>
      windowNames(quota).flatMap((window) => {
        const [before, after] = [quota, response].map((of) => textOf(of, category, window))
        return before === after ? [] : [{ name: `${name} ${category} ${windowName(window)}`, before, after }]
      }),
    )
  const ofPlan = (plan: string, scope: 'personal' | 'organisation') =>
    `${t('plans.name', { plan: visible(plan) })}: ${t(wordOf(scope))}`
  // Personal limits of users without a plan are those of the default plan.
  const nameOf = (scope: (typeof SCOPES)[number]) =>
    scope === 'personal' && quota.defaultPlan != null ? ofPlan(quota.defaultPlan, scope) : t(wordOf(scope))
  const rows = [
    ...SCOPES.flatMap((scope) =>
      changed(nameOf(scope), ({ effective, over }, category, window) =>
        shown(effective[scope][category]?.[window], over?.[scope][category]?.[window]),
      ),
    ),
    ...Object.keys(response.effective.plans ?? {}).flatMap((plan) =>
      (plan === quota.defaultPlan ? OF_DEFAULT : OF_PLAN).flatMap((scope) =>
        changed(ofPlan(plan, scope), ({ effective }, category, window) =>
          shown(effective.plans?.[plan]?.[scope][category]?.[window], undefined),
        ),
      ),
    ),
  ]
  return (
    <DataTable
      look="small"
      label={t('preview.limits')}
      columns={[
        { id: 'window', head: t('word.window'), cell: ({ name }) => name },
        { id: 'now', head: t('preview.now'), isNumber: true, cell: ({ before }) => before },
        { id: 'then', head: t('preview.then'), isNumber: true, cell: ({ after }) => after },
      ]}
      rows={rows}
      none={t('preview.sameLimits')}
      keyOf={({ name }) => name}
    />
  )
}

/** Users without usage are in no list, so limits into which no request fits are shown separately. */
function TooSmall({ quota, response }: PreviewOf) {
  const windows = noneFits(response.effective, quota.cheapest).map(
    ({ scope, category, window }) => `${t(`word.${scope}`)} ${category} ${windowName(window)}`,
  )
  if (windows.length === 0) return null
  return (
    <Note tone="warn" live>
      {t('preview.tooSmall', { windows: windows.join(', ') })}
    </Note>
  )
}

/** Limits into which only expensive requests never fit. `TooSmall` shows those into which no request fits. */
function TooDear({ response }: { readonly response: PreviewResponse }) {
  if (response.warnings.length === 0) return null
  return (
    <Note tone="warn">
      {t('preview.tooDear')}
      <ul>
        {response.warnings.map(({ plan, scope, category, window, limit, cost, routes, routeCount }) => (
          <li key={`${plan} ${scope} ${category} ${window}`}>
            {plan !== undefined && <bdi>{plan}: </bdi>}
            {limitName({ scope, category, window })}: {number(limit)} &lt; {number(cost)} (
            <bdi>{routes.join(', ')}</bdi>
            {routeCount > routes.length && `, … ${number(routeCount)}`})
          </li>
        ))}
      </ul>
    </Note>
  )
}

/** What is left in the global windows. */
function Room({ response, quota: { cheapest }, shadow }: PreviewOf & { readonly shadow: boolean }) {
  const rows = inOneList(response.windows)
  if (rows.length === 0) return <p>{t('preview.roomOff')}</p>
  const nameIn = ({ category, window }: { readonly category: string; readonly window: string }) =>
    `${category} ${windowName(window)}`
  const usedUp = rows.filter(({ category, ...window }) => lacksRoom(window, cheapest[category])).map(nameIn)
  const ofNewUsers = response.newUsers.map(nameIn)
  return (
    <>
      {ofNewUsers.length > 0 && (
        <Note tone="warn" live>
          {t('preview.usedUpForNew', { windows: ofNewUsers.join(', ') })}
        </Note>
      )}
      {usedUp.length > 0 && (
        <Note tone={shadow ? 'warn' : 'bad'} live>
          {t('preview.usedUp', { windows: usedUp.join(', ') })}
        </Note>
      )}
      <DataTable
        look="small"
        label={t('preview.room')}
        columns={[
          { id: 'window', head: t('word.window'), cell: nameIn },
          { id: 'used', head: t('word.used'), count: ({ used }) => used },
          { id: 'limitNow', head: t('preview.limitNow'), count: ({ limitNow }) => limitNow },
          { id: 'roomNow', head: t('preview.roomNow'), count: ({ remainingNow }) => remainingNow },
          { id: 'limitThen', head: t('preview.limitThen'), count: ({ limit }) => limit },
          { id: 'roomThen', head: t('preview.roomThen'), count: ({ remaining }) => remaining },
        ]}
        rows={rows}
        keyOf={nameIn}
      />
    </>
  )
}
