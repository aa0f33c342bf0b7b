#!/usr/bin/env node
// biome-ignore-all lint/style/useTemplate: an old Node knows no template literals
// The command that npm installs, in words that the oldest Node can read. What it loads needs a new Node: an old one would only
// quote a line that it does not understand.
var needed = require('../../package.json').engines.node.split(' ')[0].replace('>=', '')
var found = process.versions.node
var problem = 'tollgate: Node ' + needed + ' or newer is needed, and this is ' + found

function isTooOld() {
  var want = needed.split('.').map(Number)
  var have = found.split('-')[0].split('.').map(Number)
  var at = 0
  while (at < want.length - 1 && want[at] === have[at]) at++
  return have[at] < want[at]
}

if (isTooOld()) {
  console.error(problem + ': install a newer one (https://nodejs.org), then tollgate again')
  process.exitCode = 1
} else {
  require('./load.cjs')
}
