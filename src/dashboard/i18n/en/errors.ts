export const errors = {
  'chart.title': 'Upstream errors, last 7 days',
  'chart.text':
    'Forwarded requests that got no response or 5xx, by half-hour. Time of this browser; hover, or use the arrow keys; click or Enter opens the log filter.',
  'chart.status0Short': 'No response',
  'chart.status5xxShort': '5xx',
  'chart.total': 'Forwarded',
  'chart.filter': 'Log filter',
  'chart.filterText':
    'The failed requests of this half-hour in the JSON log of the gateway (put the name of your log file in the place of tollgate.log):',
} as const
