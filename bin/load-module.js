// A separate file, because a Node.js too old for import() cannot parse it.
'use strict'

var module_ = require('module')
var path = require('path')

// `checkout`: its folder; null for a package.
module.exports = function loadModule(file, checkout) {
  if (checkout) {
    // Halves the time of every start after the first one. Beside the sources: whoever can put code there could change these
    // as well. In the system's temporary folder, which is the default, it could be any user of the machine.
    if (module_.enableCompileCache) {
      module_.enableCompileCache(path.join(checkout, 'node_modules', '.cache', 'deskmirror', 'compiled'))
    }
    require('./bundled-packages.js').useCopies(checkout)
  }
  return import(require('url').pathToFileURL(file).href)
}
