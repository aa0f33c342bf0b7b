/** Extra tokens of a user or an organisation. */
export const grants = {
  'grants.title': 'Extra tokens',
  'grants.text':
    'Give extra tokens once. Where a window has no room for a request, they pay the whole cost of the request, and the windows stay as they are.',
  'grants.none': 'No extra tokens were given.',
  'grants.id': 'Grant',
  'grants.taken': 'Taken',
  'grants.takenOf': '{taken} of {tokens}',
  'grants.until': 'Until',
  'grants.state.live': 'pays',
  'grants.state.empty': 'used up',
  'grants.state.over': 'over',
  'grants.state.ended': 'ended by hand',
  'grants.expiry': 'They end',
  'grants.reason': 'What they are for',
  'grants.give': 'Give tokens',
  'grants.given': 'The tokens are given. All replicas know of them within 2 seconds.',
  'grants.problem.tokens': 'Enter a whole number from 1 to 1000000000000, without commas.',
  'grants.end': 'End',
  'grants.endOf': 'End the extra tokens of {name}',
  'grants.endText': 'The {left} tokens that are left pay for nothing any more. What was taken stays in the usage.',
} as const
