// Stops this process when its launcher has ended for any reason: otherwise nothing would stop it, and a supervisor that
// restarts the launcher would have two programs.
'use strict'

// The program stops within ten seconds of a SIGTERM.
var shutdownTimeoutMs = 15000

module.exports = function exitWithLauncher() {
  // Not if another program runs this one with a channel of its own; and not for child processes of this one.
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
