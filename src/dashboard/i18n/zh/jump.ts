export const jump = {
  'jump.open': '前往',
  'jump.title': '前往页面、用户、组织或路由',
  'jump.help': '方向键选择，回车键打开。',
  'jump.results': '结果',
  'jump.page': '页面',
  'jump.user': '用户',
  'jump.userById': '打开 ID 为“{id}”的用户',
  'jump.organisation': '组织',
  'jump.route': '路由',
}
