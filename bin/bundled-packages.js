// Packages of hundreds of files that every command loads. Each file takes Node.js a third of a millisecond, so a checkout
// loads a copy of each package that is a single file. `npm ci` makes the copies (bin/bundle-packages.mjs). The name of a
// copy has its version: none of another version is ever used, and where there is none, the package itself is.
'use strict'

var fs = require('fs')
var module_ = require('module')
var path = require('path')
var url = require('url')

var names = ['kysely', 'zod']

module.exports = { names: names, copyOf: copyOf, useCopies: useCopies }

// Where the copy of the version that is installed in the checkout belongs. Throws if none is installed.
function copyOf(root, name) {
  var version = JSON.parse(fs.readFileSync(path.join(root, 'node_modules', name, 'package.json'), 'utf8')).version
  return path.join(root, 'node_modules', '.cache', 'deskmirror', name + '-' + version + '.mjs')
}

// From this call on, imports of these packages load the copies.
function useCopies(root) {
  var urls = new Map()
  names.forEach((name) => {
    var file
    try {
      file = copyOf(root, name)
      if (fs.existsSync(file)) urls.set(name, url.pathToFileURL(file).href)
    } catch (_) {
      // It is installed elsewhere, or not at all; then the import fails with a reason.
    }
  })
  if (urls.size === 0 || !module_.registerHooks) return
  module_.registerHooks({
    resolve: (specifier, context, nextResolve) =>
      urls.has(specifier)
        ? { url: urls.get(specifier), format: 'module', shortCircuit: true }
        : nextResolve(specifier, context)
  })
}
