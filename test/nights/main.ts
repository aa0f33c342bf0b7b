import { parseArgs } from 'node:util'
import { type Night, type Report, runNight } from './night.ts'
import { NIGHTS } from './nights.ts'

/**
 * `npm run nights`: what goes wrong at three in the morning, with real processes on the loopback, each night within two minutes. `npm run
 * nights -- --only frozen` runs those whose name has this word. Prints a table, and ends with 1 if a night is not as it should be.
 */
const { values } = parseArgs({ options: { only: { type: 'string', default: '' } } })

function lineOf({ name, runbook }: Night, { answers, difference, told }: Report): string {
  const counts = [...answers].toSorted().map(([answer, count]) => `${count} x ${answer}`)
  const said = told === null ? 'nothing was to be done' : `${told.text} (${(told.afterMs / 1000).toFixed(1)} s)`
  return `| ${name} | ${counts.join(', ')} | ${difference} | ${said} | [${runbook}](../docs/runbook.md#${runbook}) |`
}

console.log('| Night | Answers | Charged less seen | Told within ten seconds | Runbook |\n|---|---|---|---|---|')
for (const night of NIGHTS.filter(({ name }) => name.toLowerCase().includes(values.only.toLowerCase()))) {
  const report = await runNight(night)
  console.log(lineOf(night, report))
  for (const note of report.notes) console.error(`  ${note}`)
  for (const problem of report.problems) console.error(`  NOT AS IT SHOULD BE: ${problem}`)
  if (report.problems.length > 0) process.exitCode = 1
}
