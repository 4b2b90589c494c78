// Runs the program in this process. A separate file, because a Node.js too old for import() cannot
// parse it.
'use strict'

var module_ = require('module')
var path = require('path')
var url = require('url')
var v8 = require('v8')

// The program stops within ten seconds of a SIGTERM.
var shutdownTimeoutMs = 15000

module.exports = { runProgram: runProgram, keepHeapSmall: keepHeapSmall }

// `checkout`: its folder; null for a package.
function runProgram(file, checkout) {
  exitWithLauncher()
  keepHeapSmall()
  // Without it, types are removed again at each start, which takes a second. Beside the sources:
  // whoever can put code there could change these as well. In the system's temporary folder, which
  // is the default, it could be any user of the machine.
  if (checkout && module_.enableCompileCache) {
    module_.enableCompileCache(path.join(checkout, 'node_modules', '.cache', 'deskmirror'))
  }
  return import(url.pathToFileURL(file).href)
}

// Stops this process when the launcher that runs it (run-bundled-node.js) has ended for any reason:
// otherwise nothing would stop it, and a supervisor that restarts the launcher would have two
// programs.
function exitWithLauncher() {
  // Not if another program runs this one with a channel of its own; and not for child processes of
  // this one.
  var isLaunched = process.env.DESKMIRROR_LAUNCHER !== undefined
  delete process.env.DESKMIRROR_LAUNCHER
  if (!isLaunched || !process.channel) return
  process.on('disconnect', () => {
    setTimeout(() => process.kill(process.pid, 'SIGKILL'), shutdownTimeoutMs).unref()
    process.kill(process.pid, 'SIGTERM')
  })
  // The channel must not keep the process alive.
  process.channel.unref()
}

// V8 sizes the heap by the machine's memory, not by what a program needs. Without these flags a
// first sync takes 1.4 to 1.9 times the memory (npm run bench:memory). Only growth is slowed; the
// memory in use has no new limit.
function keepHeapSmall() {
  // The young generation keeps its initial size.
  v8.setFlagsFromString('--semi-space-growth-factor=1')
  // The old generation is collected when it is an eighth larger than what was in use.
  v8.setFlagsFromString('--heap-growing-percent=12')
}
