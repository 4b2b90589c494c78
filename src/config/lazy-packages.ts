/** Packages that few configurations need. Each takes some tens of milliseconds to load, in every command. */
import { createRequire } from 'node:module'

const require = createRequire(import.meta.url)

/** For a YAML file. */
export const loadYaml = (): typeof import('yaml') => require('yaml')

/** For a cron pattern. */
export const loadCronParser = (): typeof import('cron-parser') => require('cron-parser')
