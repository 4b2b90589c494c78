// Runs deskmirror on the Node.js that the project bundles, and forwards signals and the exit code.
'use strict'

var os = require('os')
var spawn = require('child_process').spawn

module.exports = function runBundledNode(node, args) {
  // The fourth stream is an empty channel: when it closes, the child knows that this process ended
  // (run-program.js).
  var env = Object.assign({}, process.env, { DESKMIRROR_LAUNCHER: '1' })
  var child = spawn(node, args, { stdio: ['inherit', 'inherit', 'inherit', 'ipc'], env: env })
  var onTerminal = process.stdin.isTTY || process.stdout.isTTY || process.stderr.isTTY
  process.on('SIGINT', () => {
    // A terminal sends Ctrl-C to both processes; forwarded, it would count as a second one.
    if (!onTerminal) child.kill('SIGINT')
  })
  ;['SIGTERM', 'SIGHUP'].forEach((signal) => {
    process.on(signal, () => {
      child.kill(signal)
    })
  })
  child.on('error', (error) => {
    process.stderr.write('deskmirror cannot start ' + node + ': ' + error.message + '\n')
    process.exitCode = 2
  })
  child.on('exit', (code, signal) => {
    // The exit code for a child that a signal ended is the one that shells use.
    process.exitCode = signal ? 128 + os.constants.signals[signal] : code
  })
}
