import { NativeSelect, Textarea, TextInput } from '@mantine/core'
import { Fragment, type ReactNode, useState } from 'react'
import type { ExplainResponse, Scope } from '../../../contract/api.ts'
import { call, serverNow } from '../../api/client.ts'
import { LENGTHS, number, reason, t, time, windowName } from '../../i18n/text.ts'
import { SCOPE_WORDS } from '../../logic/scope.ts'
import { Failed } from '../../ui/failure.tsx'
import { Filled } from '../../ui/filled.tsx'
import { bound, useForm } from '../../ui/form.tsx'
import { Moment } from '../../ui/moment.tsx'
import { Panel } from '../../ui/panel.tsx'
import { Price } from '../../ui/price.tsx'
import { Fact, Facts, Note, Plain, type Tone } from '../../ui/small.tsx'
import { LimitRows, rowOf } from './limit-rows.tsx'

const METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'HEAD', 'OPTIONS']
const TONES: Readonly<Record<ExplainResponse['decision'], Tone>> = {
  accept: 'good',
  refuse: 'bad',
  shadow: 'warn',
  not_charged: 'info',
  no_route: 'warn',
  depends_on_body: 'info',
  bad_request: 'bad',
}

interface Explained {
  readonly response: ExplainResponse
  /** The query of the request. The result is hidden once the form has another query. */
  readonly asked: string
  /** By the gateway's clock. */
  readonly at: Date
}

export function ExplainForm({ user }: { readonly user: string }) {
  const [method, setMethod] = useState('GET')
  const [path, setPath] = useState('')
  const [value, setValue] = useState('')
  const [body, setBody] = useState('')
  const [explained, setExplained] = useState<Explained | null>(null)
  const known = { ...(value !== '' && { value }), ...(body !== '' && { body }) }
  const query = new URLSearchParams({ user, method, path, ...known })
  const { problems, error, form, submitter } = useForm({
    check: () => ({ path: !path.startsWith('/') && t('problem.path') }),
    async send() {
      const { data } = await call<ExplainResponse>('GET', `/api/explain?${query}`)
      setExplained({ response: data, asked: String(query), at: new Date(serverNow()) })
    },
    onError: () => setExplained(null),
  })
  return (
    <Panel title={t('explain.title')} text={t('explain.text')}>
      <form {...form}>
        <div className="fields">
          <NativeSelect label={t('explain.method')} data={METHODS} {...bound(method, setMethod, problems.method)} />
          <TextInput label={t('explain.path')} placeholder="/v1/…" {...bound(path, setPath, problems.path)} />
          <TextInput label={t('explain.cost')} {...bound(value, setValue, problems.value ?? problems.cost)} />
          <Textarea
            label={t('explain.body')}
            autosize
            minRows={1}
            maxRows={8}
            {...bound(body, setBody, problems.body)}
          />
        </div>
        <div className="actions">
          <Plain {...submitter}>{t('explain.do')}</Plain>
        </div>
      </form>
      <Failed error={error} />
      {explained?.asked === String(query) && <Explanation {...explained} />}
    </Panel>
  )
}

function Explanation({ response, at }: Explained) {
  const { decision, reasons, route, category, tunnelCharge, limits, others = [] } = response
  const rows = [
    ...limits.map((limit) => ({ ...rowOf(limit), ...(category !== null && others.length > 0 && { category }) })),
    ...others.flatMap((other) => other.limits.map((limit) => ({ ...rowOf(limit), category: other.category }))),
  ]
  return (
    <div aria-live="polite">
      <Note tone={TONES[decision]} title={t(`explain.${decision}`)} live={false}>
        {reasons.map(({ code, values }) => (
          <Fragment key={code}>
            <Reason code={code} values={values} />{' '}
          </Fragment>
        ))}
      </Note>
      <p className="muted">{t('explain.at', { time: time(at) })}</p>
      <Facts>
        <Fact name={t('explain.route')}>
          {route === null ? t('explain.noRoute') : <code>{route.match}</code>}{' '}
          {route?.line && <span className="muted">{t('explain.line', { line: route.line })}</span>}
        </Fact>
        {category !== null && <Fact name={t('word.category')}>{category}</Fact>}
        <Fact name={t('explain.price')}>
          <MeterPrice {...response} />
          {tunnelCharge !== undefined && <span className="muted">{t('explain.tunnel', { every: tunnelCharge })}</span>}
        </Fact>
        {others.map((other) => (
          <Fragment key={other.category}>
            <Fact name={t('word.category')}>{other.category}</Fact>
            <Fact name={t('explain.price')}>
              <MeterPrice {...other} />
            </Fact>
          </Fragment>
        ))}
      </Facts>
      {rows.length > 0 && <LimitRows label={t('explain.title')} limits={rows} shadow={decision === 'shadow'} />}
    </div>
  )
}

/** The price of one meter: its cost, or how the cost depends on the request. */
function MeterPrice({ cost, price, settle }: Pick<ExplainResponse, 'cost' | 'price' | 'settle'>) {
  return (
    <>
      {cost !== null ? number(cost) : price === null ? '–' : <Price of={price} />}{' '}
      {settle !== undefined && <span className="muted">{t('explain.reserved')}</span>}
    </>
  )
}

/** One sentence of the explanation, with the clock and numbers of the page. */
function Reason({ code, values }: ExplainResponse['reasons'][number]) {
  function shown(name: string, value: string | number): ReactNode {
    if (typeof value === 'number') return number(value)
    if (name === 'scope') return t(SCOPE_WORDS[value as Scope])
    if (LENGTHS.includes(name)) return windowName(value)
    return name === 'resetAt' ? <Moment at={value} /> : value
  }
  const parts = Object.entries(values).map(([name, value]) => [name, shown(name, value)])
  return <Filled text={reason(code)} parts={Object.fromEntries(parts)} />
}
