/** The version of the package that this file belongs to, in a checkout or compiled. */
import { existsSync, readFileSync } from 'node:fs'

export function packageVersion(): string {
  const here = ['../../package.json', '../../../package.json'].map((path) => new URL(path, import.meta.url))
  const found = here.find((url) => existsSync(url))
  return found === undefined ? 'unknown' : String(JSON.parse(readFileSync(found, 'utf8')).version)
}
