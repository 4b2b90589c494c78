// A separate file, because a Node.js too old for import() cannot parse it.
'use strict'

var module_ = require('module')

module.exports = function loadModule(file) {
  // Makes every start after the first one twice as fast.
  if (module_.enableCompileCache) module_.enableCompileCache()
  return import(require('url').pathToFileURL(file).href)
}
