export const errors = {
  'chart.title': 'Upstream errors, last 7 days',
  'chart.text':
    'Forwarded requests that got no response or 5xx, by half-hour. Time of this browser; hover, or use the arrow keys; click or Enter opens the log filter.',
  'chart.label':
    'Chart of upstream errors: arrow keys go from half-hour to half-hour, Page Up and Page Down by a day, Enter opens the log filter',
  'chart.status0': 'No response (status 0 in the log)',
  'chart.status5xx': '5xx of the upstream',
  'chart.status0Short': 'No response',
  'chart.status5xxShort': '5xx',
  'chart.total': 'Forwarded',
  'chart.value': '{local}: {status0} without a response, {status5xx} with 5xx, of {total} forwarded',
  'chart.local': 'Local',
  'chart.utc': 'UTC',
  'chart.sum': 'In 7 days: {status0} without a response, {status5xx} with 5xx, of {total} forwarded.',
  'chart.table': 'As a table',
  'chart.onlyFailed': 'Half-hours with errors only',
  'chart.start': 'Half-hour',
  'chart.noFailures': 'No errors in these 7 days.',
  'chart.filter': 'Log filter',
  'chart.filterText':
    'The failed requests of this half-hour in the JSON log of the gateway (put the name of your log file in the place of tollgate.log):',
  'chart.latest': 'This half-hour is still being counted.',
} as const
