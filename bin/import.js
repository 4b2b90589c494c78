// A file of its own, because a Node.js too old for import() cannot even read the word.
'use strict'

var module_ = require('module')

module.exports = function load(file) {
  // Twice as fast from the second start on.
  if (module_.enableCompileCache) module_.enableCompileCache()
  return import(require('url').pathToFileURL(file).href)
}
