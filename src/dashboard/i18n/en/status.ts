export const status = {
  'status.title': 'Who is refused now',
  'status.nobody': 'Nobody is refused.',
  'status.nobodyBefore': 'Nobody was refused when the gateway was last asked.',
  'status.full': 'All {category} requests of everybody get 429: the global window {window} is used up.',
  'status.nearlyFull':
    '{category} requests of everybody that cost more than {remaining} get 429: the global window {window} is nearly used up.',
  'status.until': 'It ends at',
  'status.user': '{count} user got 429 in the last 5 minutes from a personal limit.',
  'status.users': '{count} users got 429 in the last 5 minutes from personal limits.',
  'status.organisation': 'Members of {count} organisation got 429 in the last 5 minutes from its limit.',
  'status.organisations': 'Members of {count} organisations got 429 in the last 5 minutes from their limits.',
  'status.who': 'Who and why',
  'status.change': 'Change it',
  'status.failing': 'The upstream fails {share} of requests now.',
  'status.errors': 'Where and since when',
  'status.shadow': 'Shadow mode is on: whatever is used, nobody gets 429.',
  'status.storeOut': 'The store takes no charges.',
} as const
