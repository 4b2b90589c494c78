// After `npm ci`: makes the copies of packages that a checkout starts with (bin/bundled-packages.js). Any Node.js may run
// this, and without development dependencies there is nothing to make copies with: commands only start more slowly then.
import { mkdirSync, renameSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import bundledPackages from './bundled-packages.js'

const root = process.argv[2] || join(dirname(fileURLToPath(import.meta.url)), '..')

import('rolldown').then(bundlePackages).catch((error) => {
  // Never a reason for `npm ci` to fail.
  process.stderr.write(`commands start more slowly, as their packages could not be bundled: ${error.message}\n`)
})

async function bundlePackages({ build }) {
  for (const name of bundledPackages.names) {
    const { output } = await build({
      input: name,
      cwd: root,
      platform: 'node',
      output: { comments: false },
      write: false,
      logLevel: 'silent'
    })
    const file = bundledPackages.copyOf(root, name)
    mkdirSync(dirname(file), { recursive: true })
    // Neither a process that is killed here nor a power failure leaves half of a copy.
    const newFile = `${file}.${process.pid}`
    writeFileSync(newFile, toAscii(output[0].code), { flush: true })
    renameSync(newFile, file)
  }
}

// V8 keeps the text of a program in memory, with two bytes for each character if one of them is not ASCII.
function toAscii(code) {
  return code.replace(/[^\0-\x7f]/g, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`)
}
