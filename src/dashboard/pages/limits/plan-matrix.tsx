import { TextInput } from '@mantine/core'
import type { PlansResponse } from '../../../contract/api.ts'
import { usePoll } from '../../api/use-poll.ts'
import { useTexts } from '../../i18n/text.tsx'
import { limitIn } from '../../logic/settings.ts'
import { Rows } from '../../ui/panel.tsx'
import { Name, Tag } from '../../ui/small.tsx'
import { Origin, useEditing, useShown } from './edit.tsx'
import { nameOf, windowNames, wordOf } from './names.ts'
import { useWantedField } from './wanted.ts'

type Scope = 'personal' | 'organisation'

const EVERY_MS = 60_000

/** The limits of plans beside the baselines that they replace: a field for each plan, scope, category and window. Nothing without plans. */
export function PlanMatrix() {
  const { t } = useTexts()
  const { quota, draft } = useEditing()
  const { plans } = quota
  const known = usePoll<PlansResponse>('/api/plans', EVERY_MS).data?.plans ?? []
  const users = new Map(known.map(({ name, users }) => [name, users]))
  if (plans === undefined || Object.keys(plans).length === 0) return null
  const isOfOrganisations = (path: string) => path.startsWith('plans.') && path.includes('.organisation.')
  const isOpen =
    [...quota.changed, ...Object.keys(draft)].some(isOfOrganisations) ||
    Object.values(plans).some(({ organisation }) => Object.keys(organisation).length > 0)
  return (
    <fieldset className="limits">
      <legend>{t('plans.matrix')}</legend>
      <p className="muted">{t('plans.matrixText')}</p>
      <Matrix scope="personal" plans={Object.keys(plans)} users={users} />
      <details open={isOpen}>
        <summary>{t('plans.ofOrganisations')}</summary>
        <Matrix scope="organisation" plans={Object.keys(plans)} users={users} />
      </details>
    </fieldset>
  )
}

interface MatrixProps {
  readonly scope: Scope
  readonly plans: readonly string[]
  /** How many users whom the store knows have each plan; empty if that is not known. */
  readonly users: ReadonlyMap<string, number>
}

function Matrix({ scope, plans, users }: MatrixProps) {
  const { t, windowName } = useTexts()
  const { quota } = useEditing()
  const isPersonal = scope === 'personal'
  const heads = plans.map((plan) => <PlanHead key={plan} plan={plan} users={users.get(plan)} />)
  return (
    <Rows
      label={isPersonal ? t('plans.matrix') : t('plans.ofOrganisations')}
      head={[t('word.window'), ...(isPersonal ? [t('plans.baseline')] : []), ...heads]}
    >
      {quota.categories.flatMap((category) =>
        windowNames(quota).map((window) => (
          <tr key={`${category} ${window}`}>
            <th scope="row">
              {t(wordOf(scope))} {category} {windowName(window)}
            </th>
            {isPersonal && <Baseline category={category} window={window} />}
            {plans.map((plan) => (
              <td key={plan}>
                <PlanField plan={plan} scope={scope} category={category} window={window} />
              </td>
            ))}
          </tr>
        )),
      )}
    </Rows>
  )
}

function PlanHead({ plan, users }: { readonly plan: string; readonly users: number | undefined }) {
  const { t, number } = useTexts()
  const { quota } = useEditing()
  return (
    <>
      <Name of={plan} /> {quota.defaultPlan === plan && <Tag tone="info">{t('plans.default')}</Tag>}{' '}
      {users !== undefined && <span className="muted">{t('plans.users', { count: number(users) })}</span>}
    </>
  )
}

/** What a plan that leaves it out follows, with its edit. */
function Baseline({ category, window }: { readonly category: string; readonly window: string }) {
  const { t, number } = useTexts()
  const { quota, draft } = useEditing()
  const limit = limitIn(quota, draft, `baselines.personal.${category}.${window}`)
  return <td className="num">{limit === null ? t('override.noLimit') : number(limit)}</td>
}

interface FieldProps {
  readonly plan: string
  readonly scope: Scope
  readonly category: string
  readonly window: string
}

function PlanField({ plan, scope, category, window }: FieldProps) {
  const texts = useTexts()
  const { t, number } = texts
  const { quota, draft, edit, problemOf } = useEditing()
  const path = `plans.${plan}.${scope}.${category}.${window}`
  const baseline = scope === 'personal' ? limitIn(quota, draft, `baselines.personal.${category}.${window}`) : null
  const effective = quota.effective.plans?.[plan]?.[scope][category]?.[window]
  const written = limitIn(quota, {}, path)
  const { className = '', ...wanted } = useWantedField(path)
  return (
    <div className={`field ${className}`} {...wanted}>
      <TextInput
        aria-label={nameOf(path, texts)}
        inputMode="numeric"
        placeholder={baseline === null ? t('override.noLimit') : String(baseline)}
        value={String(useShown(path))}
        onChange={(event) => edit(path, event.currentTarget.value)}
        error={problemOf(path)}
      />
      {effective !== undefined && written !== null && effective !== written && (
        <span className="muted">{t('quotas.effective', { limit: number(effective) })}</span>
      )}
      <Origin path={path} />
    </div>
  )
}
