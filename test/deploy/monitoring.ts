import { readFileSync } from 'node:fs'
import { parse } from 'yaml'

/** What stands in helm/rules, helm/dashboards and docs/runbook.md, read for the tests. */

const read = (path: string): string => readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8')

export interface Rule {
  readonly record?: string
  readonly alert?: string
  readonly expr: string
  readonly labels?: Readonly<Record<string, string>>
  readonly annotations?: Readonly<Record<string, string>>
}

export const RULES_FILE = 'helm/rules/tollgate.yaml'
export const RULE_TESTS = ['objective', 'objective-days', 'state'].map((name) => `test/deploy/rules/${name}.yaml`)

export const rulesText = read(RULES_FILE)
export const rules = (parse(rulesText) as { groups: { rules: Rule[] }[] }).groups.flatMap((group) => group.rules)
export const alerts = rules.filter((rule) => rule.alert !== undefined)
export const recordings = rules.filter((rule) => rule.record !== undefined)

export interface RuleCase {
  readonly alertname: string
  readonly exp_alerts: readonly unknown[]
}

export const ruleCases = RULE_TESTS.flatMap((path) =>
  (parse(read(path)) as { tests: { alert_rule_test?: RuleCase[] }[] }).tests.flatMap(
    (test) => test.alert_rule_test ?? [],
  ),
)

export interface Panel {
  readonly id: number
  readonly type: string
  readonly title: string
  readonly description?: string
  readonly datasource?: unknown
  readonly gridPos: { readonly x: number; readonly y: number; readonly w: number; readonly h: number }
  readonly fieldConfig?: { readonly defaults: { readonly unit?: string } }
  readonly targets?: readonly { readonly refId: string; readonly expr: string; readonly datasource: unknown }[]
}

export interface Dashboard {
  readonly uid: string
  readonly title: string
  readonly editable: boolean
  readonly schemaVersion: number
  readonly time: { readonly from: string; readonly to: string }
  readonly templating: { readonly list: readonly { readonly name: string; readonly type: string }[] }
  readonly panels: readonly Panel[]
}

export const dashboards = ['operations', 'quotas'].map(
  (name): Dashboard => JSON.parse(read(`helm/dashboards/${name}.json`)),
)

/** Every query of the dashboards with the place where it stands. */
export const queries = dashboards.flatMap(({ title, panels }) =>
  panels.flatMap((panel) =>
    (panel.targets ?? []).map(({ refId, expr }) => ({ place: `${title}: ${panel.title} ${refId}`, expr })),
  ),
)

/** As Grafana asks it with everything selected. @param interval instead of `$__rate_interval` */
export function filledIn(expr: string, interval = '1m'): string {
  return expr
    .replaceAll('$__rate_interval', interval)
    .replaceAll('$namespace', '.*')
    .replaceAll(/\$(job|instance)/g, '.+')
}

export const runbook = read('docs/runbook.md')

/** The sections of alerts, by their title. */
export const sections = [...runbook.matchAll(/^## (\w+)$/gm)].map(([, title]) => title ?? '')

/** The alerts that the runbook lists, in its order, each with its severity. */
export const listed = [...runbook.matchAll(/^\| (?:\*\*)?\[(\w+)\]\(#\w+\)(?:\*\*)? \| (page|ticket) \|/gm)].map(
  ([, alert = '', severity = '']) => [alert, severity] as const,
)

/** The text of all code blocks of a language. @param page default the runbook */
export function codeBlocks(language: string, page = runbook): string[] {
  return [...page.matchAll(new RegExp(`^\`\`\`${language}\n(.*?)^\`\`\`$`, 'gms'))].map(([, text]) => text ?? '')
}

/** The page of what to watch. */
export const watched = read('docs/metrics.md')

const WORDS = new Set(['and', 'or', 'unless', 'bool', 'offset'])

/** The names of metrics and recorded series that an expression reads. */
export function namesIn(expr: string): string[] {
  const bare = expr
    .replaceAll(/"[^"]*"/g, '')
    .replaceAll(/\{[^}]*\}/g, '')
    .replaceAll(/\[[^\]]*\]/g, '')
    .replaceAll(/\b(by|without|on|ignoring|group_left|group_right)\s*\([^)]*\)/g, '')
  const names = [...bare.matchAll(/(?<![\w.:])[a-zA-Z_:][\w:]*(?!\w*\s*\()/g)].map(([name]) => name)
  return names.filter((name) => !WORDS.has(name))
}
