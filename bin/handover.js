// Runs deskmirror on the Node.js that the project brings along, and stays in between without being noticed.
'use strict'

var os = require('os')
var spawn = require('child_process').spawn

module.exports = function handover(node, args) {
  // The fourth stream is a channel that carries nothing: its end tells the child that this process is gone (parent.js).
  var env = Object.assign({}, process.env, { DESKMIRROR_LAUNCHER: '1' })
  var child = spawn(node, args, { stdio: ['inherit', 'inherit', 'inherit', 'ipc'], env: env })
  var onTerminal = process.stdin.isTTY || process.stdout.isTTY || process.stderr.isTTY
  process.on('SIGINT', () => {
    // A terminal sends Ctrl-C to both of us; passed on, it would count as the second one.
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
    // A child that a signal ended is reported the way a shell does it.
    process.exitCode = signal ? 128 + os.constants.signals[signal] : code
  })
}
