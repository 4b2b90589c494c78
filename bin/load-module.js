// A separate file, because a Node.js too old for import() cannot parse it.
'use strict'

var module_ = require('module')

// `checkout`: its folder; null for a package.
module.exports = function loadModule(file, checkout) {
  // Makes every start after the first one twice as fast.
  if (module_.enableCompileCache) module_.enableCompileCache()
  if (checkout) require('./bundled-packages.js').useCopies(checkout)
  return import(require('url').pathToFileURL(file).href)
}
