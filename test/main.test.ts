import { spawnSync } from 'node:child_process'
import { expect, it } from 'vitest'

function tollgate(...args: string[]) {
  const { status, stdout, stderr } = spawnSync(process.execPath, ['src/main.ts', ...args], { encoding: 'utf8' })
  return { code: status, stdout, stderr }
}

it.each([
  [['chekc'], 'unknown command "chekc"; did you mean "check"?'],
  [['toast'], 'unknown command "toast"'],
  [['-c', 'my.yaml'], 'unknown command "-c"'],
  [['-c', 'my.yaml', 'check'], 'the command comes first, before its options: tollgate check -c ...'],
  [['--user=ann', 'explain'], 'the command comes first, before its options: tollgate explain --user=ann ...'],
])('a wrong call names the cure: tollgate %j', (args, cure) => {
  expect(tollgate(...args)).toEqual({ code: 2, stdout: '', stderr: `tollgate: ${cure}\nSee: tollgate --help\n` })
})
