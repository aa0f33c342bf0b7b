import { readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import type { Dashboard, Panel, Row } from './dashboards/dashboard.ts'
import { OPERATIONS } from './dashboards/operations.ts'
import { QUOTAS } from './dashboards/quotas.ts'

/**
 * Writes the Grafana dashboards of the chart, `helm/dashboards/*.json`: `node build/grafana.ts`. They are made here because
 * each panel of the format has fifty lines that are the same for all; what they show stands in `build/dashboards`. Import the
 * JSON files in Grafana 10.4 or newer.
 */

const DASHBOARDS = new URL('../helm/dashboards/', import.meta.url)

// biome-ignore lint/suspicious/noTemplateCurlyInString: the variable is Grafana's
const DATASOURCE = { type: 'prometheus', uid: '${datasource}' }

const RECORDED = 'namespace=~"$namespace",job=~"$job"'
const SELECTOR = `${RECORDED},instance=~"$instance"`

const withSelectors = (expr: string): string =>
  expr.replaceAll('{@job}', `{${RECORDED}}`).replaceAll('{@', `{${SELECTOR}`)

const TYPES = { lines: 'timeseries', stack: 'timeseries', number: 'stat', bars: 'bargauge', table: 'table' } as const

const REDUCE = { calcs: ['lastNotNull'], fields: '', values: false }
const OPTIONS = {
  lines: {
    legend: { displayMode: 'list', placement: 'bottom', showLegend: true },
    tooltip: { mode: 'multi', sort: 'desc' },
  },
  number: { colorMode: 'value', graphMode: 'area', reduceOptions: REDUCE, textMode: 'auto' },
  bars: { displayMode: 'basic', orientation: 'horizontal', reduceOptions: REDUCE },
  table: { showHeader: true },
} as const

/** Of 24 columns. */
const WIDTH = { lines: 8, stack: 8, number: 4, bars: 8, table: 8 } as const
const HEIGHT = { lines: 7, stack: 7, number: 4, bars: 7, table: 7 } as const

function panelOf(panel: Panel, id: number, x: number, y: number) {
  const { title, about, unit, queries, kind = 'lines', limits } = panel
  const isLines = kind === 'lines' || kind === 'stack'
  const colors =
    limits === undefined
      ? []
      : [
          { color: 'orange', value: limits[0] },
          { color: 'red', value: limits[1] },
        ]
  return {
    id,
    type: TYPES[kind],
    title,
    description: about,
    datasource: DATASOURCE,
    gridPos: { h: HEIGHT[kind], w: WIDTH[kind], x, y },
    fieldConfig: {
      defaults: {
        unit,
        // An axis that begins elsewhere makes much of little.
        min: 0,
        color: { mode: limits === undefined ? 'palette-classic' : 'thresholds' },
        thresholds: { mode: 'absolute', steps: [{ color: 'green', value: null }, ...colors] },
        ...(kind === 'bars' && { max: 1 }),
        ...(isLines && {
          custom: {
            fillOpacity: kind === 'stack' ? 30 : 5,
            showPoints: 'never',
            stacking: { group: 'A', mode: kind === 'stack' ? 'normal' : 'none' },
          },
        }),
      },
      overrides: [],
    },
    options: OPTIONS[kind === 'stack' ? 'lines' : kind],
    ...(kind === 'table' && {
      transformations: [{ id: 'organize', options: { excludeByName: { Time: true }, renameByName: {} } }],
    }),
    targets: queries.map(({ expr, legend }, i) => ({
      refId: String.fromCharCode('A'.charCodeAt(0) + i),
      datasource: DATASOURCE,
      expr: withSelectors(expr),
      ...(legend !== '' && { legendFormat: legend }),
      ...(kind === 'table' && { format: 'table' }),
      ...(isLines ? { range: true } : { instant: true }),
    })),
  }
}

/** Rows of panels from left to right, 24 columns wide. */
function panelsOf(rows: readonly Row[]) {
  const panels: unknown[] = []
  let y = 0
  for (const { title, panels: inRow } of rows) {
    panels.push({
      id: panels.length + 1,
      type: 'row',
      title,
      collapsed: false,
      gridPos: { h: 1, w: 24, x: 0, y },
      panels: [],
    })
    y++
    let x = 0
    let height = 0
    for (const panel of inRow) {
      const { kind = 'lines' } = panel
      if (x + WIDTH[kind] > 24) {
        y += height
        x = 0
      }
      panels.push(panelOf(panel, panels.length + 1, x, y))
      x += WIDTH[kind]
      height = HEIGHT[kind]
    }
    y += height
  }
  return panels
}

/** A variable of the dashboard whose values are those of a label. */
function labelVariable(name: string, label: string, among: string, all = '.+') {
  return {
    name,
    label,
    type: 'query',
    datasource: DATASOURCE,
    query: { query: `label_values(tollgate_build_info${among}, ${name})`, refId: 'StandardVariableQuery' },
    // 2: also when the time range is changed, since replicas come and go.
    refresh: 2,
    sort: 1,
    multi: true,
    includeAll: true,
    allValue: all,
    current: { selected: true, text: ['All'], value: ['$__all'] },
  }
}

function dashboardOf({ uid, title, description, rows }: Dashboard) {
  return {
    uid,
    title,
    description,
    tags: ['tollgate'],
    editable: false,
    graphTooltip: 1,
    schemaVersion: 39,
    refresh: '30s',
    time: { from: 'now-3h', to: 'now' },
    timezone: 'browser',
    links: [
      {
        type: 'dashboards',
        title: 'Tollgate',
        tags: ['tollgate'],
        asDropdown: false,
        includeVars: true,
        keepTime: true,
        targetBlank: false,
        icon: 'external link',
        tooltip: '',
        url: '',
      },
    ],
    annotations: { list: [] },
    templating: {
      list: [
        {
          name: 'datasource',
          label: 'Data source',
          type: 'datasource',
          query: 'prometheus',
          refresh: 1,
          current: { selected: true, text: 'default', value: 'default' },
        },
        // Also nothing: without Kubernetes no series has this label.
        labelVariable('namespace', 'Namespace', '', '.*'),
        labelVariable('job', 'Job', '{namespace=~"$namespace"}'),
        labelVariable('instance', 'Instance', `{${RECORDED}}`),
      ],
    },
    panels: panelsOf(rows),
  }
}

/** The text of each file by its name. */
export const FILES = new Map([
  ['operations.json', `${JSON.stringify(dashboardOf(OPERATIONS), null, 2)}\n`],
  ['quotas.json', `${JSON.stringify(dashboardOf(QUOTAS), null, 2)}\n`],
])

/** The files that are not what is made here. */
export function staleFiles(): string[] {
  return [...FILES]
    .filter(([name, text]) => readFileSync(new URL(name, DASHBOARDS), 'utf8') !== text)
    .map(([name]) => name)
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  for (const [name, text] of FILES) writeFileSync(new URL(name, DASHBOARDS), text)
}
