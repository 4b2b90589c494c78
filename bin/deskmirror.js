#!/usr/bin/env node
// The launcher: finds a Node.js that can run deskmirror. Its syntax is one that any old Node.js can parse.
'use strict'

var fs = require('fs')
var path = require('path')

var needed = [22, 19]
// What a sync has open at once, and some reserve.
var neededFiles = 48
var root = path.join(__dirname, '..')
var source = path.join(root, 'src', 'cli', 'main.ts')
var compiled = path.join(root, 'dist', 'src', 'cli', 'main.js')
var bundled = path.join(
  root,
  'node_modules',
  'node',
  'bin',
  process.platform === 'win32' ? 'node.exe' : 'node'
)
var isCheckout = fs.existsSync(source)
var program = isCheckout ? source : compiled

if (!canOpenFiles()) {
  // It has printed the reason.
} else if (isNewEnough() && (!isCheckout || canStripTypes())) {
  require('./run-program.js').runProgram(program, isCheckout ? root : null)
} else if (
  fs.existsSync(bundled) &&
  fs.realpathSync(bundled) !== fs.realpathSync(process.execPath)
) {
  // Where a process can become another program, there is no second one.
  if (process.execve) process.execve(bundled, [bundled].concat(bundledArgs()), process.env)
  else require('./run-bundled-node.js')(bundled, bundledArgs())
} else {
  process.stderr.write(
    'deskmirror needs Node.js ' +
      needed.join('.') +
      ' or newer, and this is ' +
      process.versions.node +
      ': install it from your system or from nodejs.org' +
      (isCheckout ? ', or run `npm ci` here' : '') +
      '\n'
  )
  process.exitCode = 2
}

function bundledArgs() {
  return [__filename].concat(process.argv.slice(2))
}

function isNewEnough() {
  var version = process.versions.node.split('.').map(Number)
  return version[0] > needed[0] || (version[0] === needed[0] && version[1] >= needed[1])
}

function canStripTypes() {
  return Boolean(process.features && process.features.typescript)
}

// Whether that many more files can be opened now. Node.js itself would end without a message, or in
// the middle of work.
function canOpenFiles() {
  var opened = []
  try {
    while (opened.length < neededFiles) opened.push(fs.openSync(__filename, 'r'))
    return true
  } catch (error) {
    if (error.code !== 'EMFILE' && error.code !== 'ENFILE') return true
    process.exitCode = 2
    fs.writeSync(
      2,
      'deskmirror: cannot open enough files: this process may have only a few open at once\n' +
        '  → raise the limit: `ulimit -n 1024` in a shell, LimitNOFILE= in a systemd unit, --ulimit nofile=1024 for a container\n'
    )
    return false
  } finally {
    while (opened.length > 0) fs.closeSync(opened.pop())
  }
}
