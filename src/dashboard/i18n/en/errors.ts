export const errors = {
  'chart.title': 'Upstream errors, last 7 days',
  'chart.titleOf': 'Upstream errors of {route}, last 7 days',
  'chart.text':
    'Forwarded requests that got no response or 5xx, by half-hour. Hover, or use the arrow keys; click or Enter opens the log filter.',
  'chart.status0Short': 'No response',
  'chart.status5xxShort': '5xx',
  'chart.total': 'Forwarded',
  'chart.draw4xx': 'Draw 4xx too',
  'chart.filter': 'Log filter',
  'chart.filterText':
    'The failed requests of this half-hour in the JSON log of the gateway (replace tollgate.log by the name of your log file):',
  'errors.allRoutes': 'All routes',
  'errors.routes': 'Routes that fail most',
  'errors.routesText': 'In the range above, by what failed. The share is of all requests of the route.',
  'errors.noRoute': 'No request of a route failed in this range.',
  'errors.share': 'Failed',
  'errors.gateway5xx': '5xx of the gateway',
  'blame.title': 'Is it us or the upstream?',
  'blame.nobody': 'Nothing fails',
  'blame.upstream': 'It is the upstream',
  'blame.gateway': 'It is the gateway',
  'blame.both': 'It is both',
  'blame.none': 'None of {requests} requests failed.',
  'blame.failed': '{failed} of {requests} requests failed ({share}). Of these',
  'blame.status5xx': '{share} got 5xx from the upstream',
  'blame.status0': '{share} got no response from the upstream',
  'blame.gateway5xx':
    '{share} got 5xx from the gateway itself: the store was unavailable, an overload, or an upstream that takes no more',
  'blame.comma': ', ',
  'blame.end': '.',
  'blame.others':
    'Not counted as failed: {refused} refused by the quota ({share}), {status4xx} with 4xx from the upstream.',
} as const
