import type { ReactNode } from 'react'
import type { OrganisationOverridesInForceResponse, SettingsInForceResponse } from '../../../contract/api.ts'
import { usePoll } from '../../api/use-poll.ts'
import { useTexts } from '../../i18n/text.tsx'
import { hashOf } from '../../logic/location.ts'
import { Panel, Rows } from '../../ui/panel.tsx'
import { Name, Tag } from '../../ui/small.tsx'
import { windowNames } from './names.ts'
import { useWantedRow } from './wanted.ts'

const EVERY_MS = 30_000
const SHOWN = 20

/** The limits in force of the plans, which the file makes, and the organisations with limits of their own; nothing if there are neither. */
export function Plans({ quota }: { readonly quota: SettingsInForceResponse }) {
  const { t } = useTexts()
  const path = `/api/in-force/organisations?limit=${SHOWN}`
  const { data } = usePoll<OrganisationOverridesInForceResponse>(path, EVERY_MS)
  const { plans } = quota
  const own = data?.organisations ?? []
  if (plans === undefined && own.length === 0) return null
  return (
    <Panel title={t('plans.title')} text={plans === undefined ? null : t('plans.text')}>
      {plans !== undefined && <PlanTable quota={quota} plans={plans} />}
      {own.length > 0 && (
        <p>
          {t('plans.own', { count: data?.total ?? own.length })}{' '}
          {own.map(({ organisation }, place) => (
            <span key={organisation}>
              {place > 0 && t('word.listComma')}
              <a href={hashOf('organisations', organisation)}>
                <Name of={organisation} />
              </a>
            </span>
          ))}
          {(data?.total ?? 0) > own.length && (
            <>
              {t('word.listComma')}
              <a href={hashOf('organisations')}>{t('organisations.back')}</a>
            </>
          )}
        </p>
      )}
    </Panel>
  )
}

interface TableProps {
  readonly quota: SettingsInForceResponse
  readonly plans: NonNullable<SettingsInForceResponse['plans']>
}

/** What a plan leaves out is as of everybody else, and not in bold. */
function PlanTable({ quota, plans }: TableProps) {
  const { t, windowName } = useTexts()
  const windows = windowNames(quota)
  return (
    <Rows
      label={t('plans.title')}
      head={[t('plans.plan'), t('plans.whose'), t('word.category'), ...windows.map(windowName)]}
    >
      {Object.entries(plans).flatMap(([plan, limits]) =>
        (['personal', 'organisation'] as const).flatMap((scope) =>
          Object.entries(limits[scope])
            .filter(([, row]) => Object.keys(row).length > 0)
            .map(([category, row]) => (
              <WantedRow key={`${plan} ${scope} ${category}`} plan={plan} scope={scope} category={category}>
                <th scope="row">
                  <Name of={plan} /> {quota.defaultPlan === plan && <Tag tone="info">{t('plans.default')}</Tag>}
                </th>
                <td>{t(`word.${scope}`)}</td>
                <td>{category}</td>
                {windows.map((window) => (
                  <Limit
                    key={window}
                    limit={row[window]}
                    usual={scope === 'personal' ? quota.effective.personal[category]?.[window] : undefined}
                  />
                ))}
              </WantedRow>
            )),
        ),
      )}
    </Rows>
  )
}

interface RowProps {
  readonly plan: string
  readonly scope: 'personal' | 'organisation'
  readonly category: string
  readonly children: ReactNode
}

function WantedRow({ children, ...row }: RowProps) {
  return <tr {...useWantedRow(row)}>{children}</tr>
}

function Limit({ limit, usual }: { readonly limit: number | undefined; readonly usual: number | undefined }) {
  const { number } = useTexts()
  if (limit === undefined) return <td className="num">–</td>
  return (
    <td className="num">{limit === usual ? <span className="muted">{number(limit)}</span> : <b>{number(limit)}</b>}</td>
  )
}
