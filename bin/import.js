// A file of its own, because a Node.js too old for import() cannot even read the word.
'use strict'

module.exports = function load(file) {
  return import(require('url').pathToFileURL(file).href)
}
