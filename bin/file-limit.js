// Explains that this process may open too few files. Node.js itself would end without a message, or in the middle of work.
'use strict'

var fs = require('fs')

// What a sync has open at once, and some reserve.
var needed = 48

// Whether that many more files can be opened now.
module.exports = function canOpenFiles() {
  var opened = []
  try {
    while (opened.length < needed) opened.push(fs.openSync(__filename, 'r'))
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
