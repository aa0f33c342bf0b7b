export const errors = {
  'chart.title': 'Failed requests',
  'chart.titleOf': 'Failed requests of {route}',
  'chart.text':
    'By half-hour. Hover, or use the arrow keys; click or Enter on a bar shows what failed in that half-hour.',
  'chart.status0Short': 'No response',
  'chart.status5xxShort': '5xx',
  'chart.total': 'Forwarded',
  'chart.draw4xx': 'Draw 4xx too',
  'chart.filter': 'Log filter',
  'chart.filterText':
    'The failed requests of this time in the JSON log of the gateway (replace tollgate.log by the name of your log file):',
  'errors.allRoutes': 'All routes',
  'errors.routes': 'Routes that fail most',
  'errors.routesText':
    'In the time above, the most failures first. The share is that of the forwarded requests of the route.',
  'errors.noRoute': 'No request failed in this time.',
  'errors.share': 'Failed, of forwarded',
  'errors.gateway5xx': '5xx of the gateway',
  'blame.title': 'Is it us or the upstream?',
  'blame.nobody': 'Nothing fails',
  'blame.upstream': 'It is the upstream',
  'blame.gateway': 'It is the gateway',
  'blame.both': 'It is both',
  'blame.none': 'None of {requests} requests failed.',
  'blame.others':
    'Not counted as failed: {refused} of {requests} requests refused by the quota ({share}), {status4xx} with 4xx from the upstream.',
  'blame.upstreamPart':
    'The upstream failed {count} of {whole} forwarded requests ({share}): {status5xx} got 5xx, {status0} no response.',
  'blame.gatewayPart':
    'The gateway itself gave 5xx to {count} of {whole} requests ({share}). Causes: an unavailable store, an overload, or an upstream that takes no more.',
  'blame.most': 'Most of them:',
  'blame.mostAt': '{span} ({count})',
  'errors.byHalfHour': 'counted by half-hour',
  'errors.ofDates': 'Of {range}.',
  'errors.ofRange': 'Of the last {range}.',
  'errors.ofHalfHour': 'Of the half-hour {span}.',
  'errors.wholeRange': 'Back to the whole range',
  'errors.withoutRoute': 'Requests of no route, or which failed before their route was known',
  'errors.shareOf': '{share} of {forwarded}',
  'chart.open': 'show this half-hour',
  'chart.inLog': 'Find these requests in the log',
} as const
