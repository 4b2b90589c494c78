/**
 * Runs the process that creates the data of the embedded store. In a thread it would leave 60 MB in the memory of this
 * process.
 */
import { execFile } from 'node:child_process'
import { getCompileCacheDir } from 'node:module'
import { promisify } from 'node:util'
import { baselineFlags } from './wasm-flags.ts'

/** `.ts` in a checkout, `.js` in a compiled package. */
const program = new URL(`./create-data${import.meta.url.slice(import.meta.url.lastIndexOf('.'))}`, import.meta.url)

const flags = [...baselineFlags, '--semi-space-growth-factor=1']

/** With the compile cache, as the thread of the store. */
const startScript = `
  const [, cache, file] = process.argv
  if (cache !== '') require('node:module').enableCompileCache(cache)
  import(file)`

/** Resolves when the folder has the data; rejects with a reason for people. */
export async function createData(folder: string): Promise<void> {
  const args = [...flags, '--eval', startScript, '--', getCompileCacheDir() ?? '', program.href, folder]
  await promisify(execFile)(process.execPath, args, { windowsHide: true }).catch((error) => {
    const reason = String(error.stderr).trim()
    throw new Error(reason === '' ? `the process that creates it ended with ${error.code ?? error.signal}` : reason)
  })
}
