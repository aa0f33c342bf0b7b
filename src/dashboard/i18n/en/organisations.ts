export const organisations = {
  'organisations.search': 'Search for organisations',
  'organisations.searchHelp': 'Part of the id of an organisation.',
  'organisations.none': 'No known organisation matches.',
  'organisations.nobody':
    'No organisation is known yet: each appears with the first charge of a user whose credential names it.',
  'organisations.withOverride':
    'Organisations with an override: {total}. Only the store knows which others have used something, and how much.',
  'organisations.openHelp': 'An organisation whose users have used nothing yet can have an override too.',
  'organisations.back': 'All organisations',
  'organisations.dots': '“.” and “..” are no organisations.',
  'organisations.noLimits': 'No plan and no override limits this organisation.',
  'organisations.windowsText':
    'What its users used together. A request counts here only if an override, or the plan of its user, limits the organisation.',
  'organisations.status.room':
    'No window of the organisation is full. Its users may still be refused by personal or global limits.',
  'organisations.status.ofPlan': 'Users with the plan {plan} are refused.',
  'organisations.members': 'Users of the organisation',
  'organisations.members.none':
    'No user of this organisation is known. Users are known by organisation once a plan or an override limits one.',
  'organisations.refusals.none': 'No limit of this organisation has refused a request in the last 7 days.',
  'organisations.refusals.all': 'All refusals of this organisation',
  'organisations.refusals.at': 'Why were its users refused at',
  'organisations.reset':
    'Empties the windows of this organisation: what was used counts no more. Windows of its users and global ones keep their counts.',
  'organisations.override.none': 'No override: the plans of its users limit this organisation.',
  'organisations.override.limits': 'Limits of the organisation',
  'organisations.override.limitsText':
    'Tokens in each window, of all users of the organisation together. They replace the limit as it stands, in every mode and for every plan; empty follows the plan, 1000 + 200 lets 200 pass beyond 1,000, and unlimited leaves the window without a limit.',
  'organisations.override.periodDayText':
    'A day from 1 to 31, whatever credentials and plans of members say. 29 to 31 mean the last day of a shorter month',
  'organisations.override.factorText':
    'Multiplies the limits, 0 to 100. Where nothing is set above, it multiplies what the plan of each member gives the organisation.',
  'organisations.override.removeText':
    'All limits of this organisation follow the plans again, within 2 seconds on every replica.',
  'organisations.override.blocks':
    '{category} {window}: {used} used already, so the organisation is blocked until the window ends.',
  'organisations.override.blocksLater':
    '{category} {window}: {used} of {limit} used. Shadow mode is on and refuses nothing; without it the organisation would be blocked.',
  'organisations.override.blocksAll':
    '{category} {window}: no request fits into a limit of {limit}, so the organisation is blocked.',
  'organisations.otherPlans': 'Limits of plans that none of its known users has ({count})',
} as const
