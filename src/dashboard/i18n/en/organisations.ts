export const organisations = {
  'organisations.search': 'Search for organisations',
  'organisations.searchHelp': 'Part of the id of an organisation.',
  'organisations.order.override': 'Organisations with an override first',
  'organisations.totals': 'Organisations shown: {count}.',
  'organisations.none': 'No known organisation matches.',
  'organisations.nobody':
    'No organisation is known yet: each appears with the first charge of a user whose organisation has limits.',
  'organisations.withOverride':
    'Organisations with an override: {total}. Only the store knows which others have used something, and how much.',
  'organisations.openHelp': 'An organisation whose users have used nothing yet can have an override too.',
  'organisations.back': 'All organisations',
  'organisations.dots': '“.” and “..” are no organisations.',
  'organisations.noLimits': 'No plan and no override limits this organisation.',
  'organisations.refusals.none': 'No user of this organisation was refused in the last 7 days.',
  'organisations.refusals.all': 'All refusals of this organisation',
  'organisations.refusals.at': 'Why were its users refused at',
  'organisations.reset':
    'Empties the windows of this organisation: what was used counts no more. Windows of its users and global ones keep their counts.',
  'organisations.override.none': 'No override: the plans of its users limit this organisation.',
  'organisations.override.limits': 'Limits of the organisation',
  'organisations.override.limitsText':
    'Tokens in each window, of all users of the organisation together. They replace the limit as it stands, in every mode and for every plan; empty follows the plan.',
  'organisations.override.removeText':
    'All limits of this organisation follow the plans again, within 2 seconds on every replica.',
  'organisations.override.blocks':
    '{category} {window}: {used} used already, so the organisation is blocked until the window ends.',
  'organisations.override.blocksLater':
    '{category} {window}: {used} of {limit} used. Shadow mode is on and refuses nothing; without it the organisation would be blocked.',
  'organisations.override.blocksAll':
    '{category} {window}: no request fits into a limit of {limit}, so the organisation is blocked.',
} as const
