/** While the package is packed: its lock file, so that users get the versions of all packages that the tests ran with. */
import { readFileSync, writeFileSync } from 'node:fs'

const lock = JSON.parse(readFileSync('package-lock.json', 'utf8'))
const entries = Object.entries<{ dev?: boolean; devDependencies?: unknown }>(lock.packages)
const packages = entries.flatMap(([path, { devDependencies, ...entry }]) => (entry.dev ? [] : [[path, entry]]))
writeFileSync(
  'npm-shrinkwrap.json',
  `${JSON.stringify({ ...lock, packages: Object.fromEntries(packages) }, null, 2)}\n`,
)
