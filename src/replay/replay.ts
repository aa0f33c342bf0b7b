import { planRulesOf } from '../app/plan-rules.ts'
import type { Config } from '../config/config.ts'
import { resolve } from '../control/settings.ts'
import { createPolicy } from '../quota/policy.ts'
import { decideAll, KnownByLog, type Listener } from './decide.ts'
import type { Journal } from './journal.ts'
import { type Report, Reporter } from './report.ts'
import { createTariffs } from './tariffs.ts'

/** Decides the requests of a journal again, like a gateway with this configuration and empty counters at the beginning. */
export async function replay(config: Config, journal: Journal): Promise<Report> {
  const reporter = new Reporter()
  await replayTo(config, journal, reporter)
  return reporter.report()
}

/** Decides the requests again, and reports each to a listener. */
export async function replayTo(config: Config, journal: Journal, listener: Listener): Promise<void> {
  const { reserve } = config.quota
  const known = reserve === undefined ? null : new KnownByLog(reserve)
  // The log names days of credentials and overrides, whether this configuration reads them or not.
  const settings = { ...resolve(config.quota, {}).settings, hasNamedDays: true }
  // In mode `adaptive` the factor followed from the failures of that time, which the log does not have. So it is 1 here.
  const policy = createPolicy(settings, 1, undefined, known?.isKnown)
  decideAll(journal, { tariffs: createTariffs(config, await planRulesOf(config)), policy, known, listener })
}
