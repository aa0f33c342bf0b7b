export const jump = {
  'jump.open': 'Go to',
  'jump.title': 'Go to a page, user, organisation or route',
  'jump.help': 'Arrow keys choose, Enter opens.',
  'jump.results': 'Found',
  'jump.page': 'page',
  'jump.user': 'user',
  'jump.userById': 'Open the user with the id “{id}”',
  'jump.organisation': 'organisation',
  'jump.route': 'route',
}
