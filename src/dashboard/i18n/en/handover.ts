export const handover = {
  'handover.title': 'Your access key',
  'handover.text':
    'Somebody has made an access key for you. This link shows it once, so have a safe place ready for it.',
  'handover.open': 'Show the key',
  'handover.once': 'Copy the key now: this link does not show it again. Keep it like a password.',
} as const
