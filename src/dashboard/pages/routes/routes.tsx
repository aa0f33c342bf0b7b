import type { RoutesResponse } from '../../admin/api.ts'
import { usePoll } from '../api/use-poll.ts'
import { useTexts } from '../i18n/text.tsx'
import { Loaded, PageTitle, Panel, Rows } from '../ui/panel.tsx'
import { Tag } from '../ui/small.tsx'

const EVERY_MS = 5000
type Route = RoutesResponse['routes'][number]

export function RoutesPage() {
  const { t } = useTexts()
  const poll = usePoll<RoutesResponse>('/api/routes', EVERY_MS)
  return (
    <>
      <PageTitle>{t('page.routes')}</PageTitle>
      <Loaded poll={poll}>
        {(response) => (
          <>
            <Panel title={t('routes.title')} text={t('routes.file', { file: response.file })}>
              {response.routes.length === 0 ? <p>{t('routes.none')}</p> : <RouteTable routes={response.routes} />}
            </Panel>
            <Unmatched unmatched={response.unmatched} />
          </>
        )}
      </Loaded>
    </>
  )
}

function RouteTable({ routes }: { readonly routes: readonly Route[] }) {
  const { t, number } = useTexts()
  const head = [
    t('routes.match'),
    t('routes.line'),
    t('word.category'),
    t('routes.cost'),
    t('routes.hits'),
    t('routes.notes'),
  ]
  return (
    <Rows label={t('routes.title')} head={head}>
      {routes.map((route) => (
        <tr key={`${route.line} ${route.match}`}>
          <th scope="row">
            <code>{route.match}</code>
          </th>
          <td className="num">{route.line}</td>
          <td>{route.category ?? '–'}</td>
          <td>
            <Cost route={route} />
          </td>
          <td className="num">{number(route.hits)}</td>
          <td>
            {route.public && <Tag tone="info">{t('routes.public')}</Tag>}{' '}
            {route.shadow && <Tag tone="warn">{t('routes.shadow')}</Tag>}{' '}
            {!route.health && <Tag>{t('routes.noHealth')}</Tag>}
          </td>
        </tr>
      ))}
    </Rows>
  )
}

function Cost({ route: { public: isPublic, cost, costs } }: { readonly route: Route }) {
  const { t, number } = useTexts()
  if (isPublic) return t('routes.free')
  if (cost !== null) return number(cost)
  return (
    <ul className="plain">
      {Object.entries(costs ?? {}).map(([value, price]) => (
        <li key={value}>
          <code>{value}</code>: {number(price)}
        </li>
      ))}
    </ul>
  )
}

function Unmatched({ unmatched: { kind, hits, latest } }: { readonly unmatched: RoutesResponse['unmatched'] }) {
  const { t, number } = useTexts()
  return (
    <Panel title={t('routes.unmatched')} text={t(`routes.unmatched.${kind}`)}>
      <p>{t('routes.unmatchedHits', { count: number(hits) })}</p>
      {latest.length > 0 && (
        <>
          <h3>{t('routes.latest')}</h3>
          <ol className="latest">
            {latest.map((request, i) => (
              // biome-ignore lint/suspicious/noArrayIndexKey: the same request may be there twice
              <li key={i}>
                <code>{request}</code>
              </li>
            ))}
          </ol>
        </>
      )}
    </Panel>
  )
}
