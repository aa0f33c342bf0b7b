import { type Dashboard, q, rateBy } from './dashboard.ts'

export const QUOTAS: Dashboard = {
  uid: 'tollgate-quotas',
  title: 'Tollgate / Quotas',
  description: 'What the quota admits and refuses, and how full the windows of all users together are.',
  rows: [
    {
      title: 'Global windows',
      panels: [
        {
          title: 'Used now',
          about:
            'Share of the global limit that is used. When a window is full every user gets 429 until it ends. Empty where the global scope is switched off.',
          kind: 'bars',
          unit: 'percentunit',
          limits: [0.8, 0.9],
          queries: [
            q(
              '{{category}} {{window}}',
              'max by (category, window) (tollgate_global_used_tokens{@}) / max by (category, window) (tollgate_global_limit_tokens{@})',
            ),
          ],
        },
        {
          title: 'Used',
          about:
            'Tokens that all users together have used of the window that is running. It falls to 0 when the window ends.',
          unit: 'short',
          queries: [q('{{category}} {{window}}', 'max by (category, window) (tollgate_global_used_tokens{@})')],
        },
        {
          title: 'Limit',
          about: 'It moves with the mode, the multiplier, changes at run time, and in mode adaptive with the factor.',
          unit: 'short',
          queries: [q('{{category}} {{window}}', 'max by (category, window) (tollgate_global_limit_tokens{@})')],
        },
      ],
    },
    {
      title: 'Refusals',
      panels: [
        {
          title: 'Requests refused (429)',
          about:
            'By the scope of the window that the answer names. personal: single users are over their limits. global: nobody has room.',
          unit: 'reqps',
          queries: [
            q(
              '{{category}}, {{scope}}',
              'sum by (category, scope) (rate(tollgate_quota_refusals_total{@}[$__rate_interval]))',
            ),
            // Without `quota.reserve` there is no such series.
            q(
              '{{category}}, kept for known users',
              'sum by (category) (rate(tollgate_reserve_refusals_total{@}[$__rate_interval])) or 0 * sum by (category) (rate(tollgate_quota_refusals_total{@}[$__rate_interval]))',
            ),
          ],
        },
        {
          title: 'Share refused',
          about: 'Of the requests of each category.',
          unit: 'percentunit',
          queries: [
            q(
              '{{category}}',
              'sum by (category) (rate(tollgate_requests_total{@,outcome="refused"}[$__rate_interval])) / sum by (category) (rate(tollgate_requests_total{@}[$__rate_interval]))',
            ),
          ],
        },
        {
          title: 'Let through in shadow',
          about:
            'Requests that the quota would have refused. scope store: they could not be decided, since the store was out. auth.shadow: who would have got 401, by what was wrong.',
          unit: 'reqps',
          queries: [
            q(
              '{{category}}, {{scope}}',
              'sum by (category, scope) (rate(tollgate_shadow_refusals_total{@}[$__rate_interval]))',
            ),
            q('auth.shadow: {{reason}}', 'sum by (reason) (rate(tollgate_auth_shadow_total{@}[$__rate_interval]))'),
          ],
        },
      ],
    },
    {
      title: 'Tokens',
      panels: [
        {
          title: 'Charged',
          about: 'Tokens a second.',
          unit: 'short',
          queries: [rateBy('category', 'tollgate_tokens_charged_total')],
        },
        {
          title: 'Given back',
          about: 'Tokens a second, of requests that certainly never reached the backend.',
          unit: 'short',
          queries: [rateBy('category', 'tollgate_tokens_refunded_total')],
        },
        {
          title: 'Tokens for a request',
          about: 'Mean cost of a charged request.',
          unit: 'short',
          queries: [
            q(
              '{{category}}',
              'sum by (category) (rate(tollgate_tokens_charged_total{@}[$__rate_interval])) / sum by (category) (rate(tollgate_requests_total{@,outcome=~"forwarded|failed|aborted"}[$__rate_interval]))',
            ),
          ],
        },
      ],
    },
    {
      title: 'Plans and costs',
      panels: [
        {
          title: 'Tokens by plan',
          about: 'Tokens a second. none: callers without a plan. Empty without quota.plans.',
          unit: 'short',
          queries: [
            q(
              '{{plan}}, {{category}}',
              'sum by (plan, category) (rate(tollgate_plan_tokens_charged_total{@}[$__rate_interval]))',
            ),
            q(
              '{{plan}}, {{category}}, given back',
              'sum by (plan, category) (rate(tollgate_plan_tokens_refunded_total{@}[$__rate_interval]))',
            ),
          ],
        },
        {
          title: 'Requests refused (429) by plan',
          about: 'By the scope of the window that the answer names.',
          unit: 'reqps',
          queries: [
            q('{{plan}}, {{scope}}', 'sum by (plan, scope) (rate(tollgate_plan_refusals_total{@}[$__rate_interval]))'),
          ],
        },
        {
          title: 'Of an unknown plan, exempt, or repeated',
          about:
            'unknown plan: the credential names one that is not configured. exempt: nothing is charged. repeated: the idempotency key was charged before.',
          unit: 'reqps',
          queries: [
            q('unknown plan', 'sum(rate(tollgate_unknown_plan_requests_total{@}[$__rate_interval]))'),
            q('{{category}}, exempt', 'sum by (category) (rate(tollgate_exempt_requests_total{@}[$__rate_interval]))'),
            q('{{category}}, repeated', 'sum by (category) (rate(tollgate_replays_total{@}[$__rate_interval]))'),
          ],
        },
        {
          title: 'Events of alerts',
          about:
            'raised: a threshold was reached. delivered: the receiver took it. failed: an attempt failed. given up: after a day, or as the receiver wants no more. full: too many are pending.',
          unit: 'short',
          queries: [
            q(
              '{{alert}}, {{event}}',
              'sum by (alert, event) (increase(tollgate_alert_events_total{@}[$__rate_interval]))',
            ),
          ],
        },
        {
          title: 'Costs known afterwards',
          about: 'Requests of rules with settle, by where their cost came from.',
          unit: 'reqps',
          queries: [
            q(
              '{{category}}, {{source}}',
              'sum by (category, source) (rate(tollgate_settled_costs_total{@}[$__rate_interval]))',
            ),
          ],
        },
      ],
    },
    {
      title: 'Traffic and settings',
      panels: [
        {
          title: 'Requests by category',
          about: 'none: public routes, and requests that were refused before their route was known or charged.',
          kind: 'stack',
          unit: 'reqps',
          queries: [rateBy('category', 'tollgate_requests_total')],
        },
        {
          title: 'Matching no route, and let pass by a leniency',
          about:
            'Unmatched: refused, forwarded or charged as unmatched says; GET /api/routes has the latest paths. Others: faults that edge.lenient or upstream.lenient lets pass.',
          unit: 'reqps',
          queries: [
            q('unmatched', 'sum(rate(tollgate_unmatched_requests_total{@}[$__rate_interval]))'),
            q('{{fault}}', 'sum by (fault) (rate(tollgate_lenient_requests_total{@}[$__rate_interval]))'),
          ],
        },
        {
          title: 'Factor of mode adaptive',
          about:
            'What limits are multiplied by in that mode, from the failures of the last 30 minutes. Shown in every mode.',
          unit: 'none',
          queries: [q('{{instance}}', 'max by (instance) (tollgate_adaptive_factor{@})')],
        },
      ],
    },
    {
      title: 'While the store is out',
      panels: [
        {
          title: 'Charges decided without the store',
          about: 'By the share of the limits that quota.store_outage allows; unable got 503.',
          unit: 'reqps',
          queries: [
            q(
              '{{category}}, {{verdict}}',
              'sum by (category, verdict) (rate(tollgate_outage_charges_total{@}[$__rate_interval]))',
            ),
          ],
        },
        {
          title: 'Tokens still to be charged',
          about: 'Admitted without the store, and not yet added to its windows. It falls to 0 when the store is back.',
          unit: 'short',
          queries: [
            q(
              'tokens',
              '(sum(tollgate_outage_tokens_total{@,event="owed"}) or vector(0)) - (sum(tollgate_outage_tokens_total{@,event!="owed"}) or vector(0))',
            ),
          ],
        },
        {
          title: 'What became of them',
          about:
            'Tokens a second. expired: their window ended first. lost: the gateway was stopped before the store was back.',
          unit: 'short',
          queries: [rateBy('event', 'tollgate_outage_tokens_total')],
        },
      ],
    },
  ],
}
