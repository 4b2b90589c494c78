// Stops this process when the launcher that started it is gone, however that ended: nobody would stop it any more, and a
// supervisor that starts a new one would have two.
'use strict'

// The program stops within ten seconds of a SIGTERM.
var patienceMs = 15000

module.exports = function endWithLauncher() {
  // Not for a program of somebody else's that runs us with a channel of its own; and not for what we may start ourselves.
  var isLaunched = process.env.DESKMIRROR_LAUNCHER !== undefined
  delete process.env.DESKMIRROR_LAUNCHER
  if (!isLaunched || !process.channel) return
  process.on('disconnect', () => {
    setTimeout(() => process.kill(process.pid, 'SIGKILL'), patienceMs).unref()
    process.kill(process.pid, 'SIGTERM')
  })
  // It alone is no reason to go on.
  process.channel.unref()
}
